// Where this `stepscope` finds what was installed with it.
#pragma once

#include "profiler/doctor/build_hooks.h"

namespace stepscope::cli {

// From the place of the binary, as installed or in the build tree: beside bin/.
Installation find_installation();

}  // namespace stepscope::cli
