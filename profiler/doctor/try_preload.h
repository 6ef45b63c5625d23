// Whether libstepscope.so loads into a program as `stepscope run` has it loaded: the only answer
// that can be relied on, as it is also a matter of its path, its permissions and the C library.
#pragma once

#include <string>

#include "profiler/doctor/build_hooks.h"

namespace stepscope {

enum class PreloadTrial : unsigned char {
  kWorks,
  kFails,
  kNotTried,  // there is no program to try it with
};

struct PreloadTrialResult {
  PreloadTrial outcome = PreloadTrial::kWorks;
  std::string why;  // what is wrong; of one that works: how it is named to the loader, if by a link
};

// Starts a program with the library, and nothing to record: it must be loaded, and the loader must
// have nothing to say on standard error.
PreloadTrialResult try_preload(const Installation& installed);

}  // namespace stepscope
