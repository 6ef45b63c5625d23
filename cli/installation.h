// Where this `stepscope` finds what was installed with it.
#pragma once

#include "profiler/doctor/build_hooks.h"

namespace stepscope::cli {

// From the place of the binary, as installed or in the build tree: beside bin/.
Installation find_installation();

// The same for who records with it. Errors: kUnavailable, the library that programs preload is not
// there.
Result<Installation> ready_installation();

}  // namespace stepscope::cli
