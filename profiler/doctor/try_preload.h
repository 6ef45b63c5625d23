// Checks whether libstepscope.so loads into a program the way `stepscope run` loads it. Only trying
// is reliable, since it also depends on its path, its permissions and the C library.
#pragma once

#include <string>

#include "profiler/doctor/build_hooks.h"

namespace stepscope {

enum class PreloadTrial : unsigned char {
  kWorks,
  kFails,
  kNotTried,  // no program to try it with
};

struct PreloadTrialResult {
  PreloadTrial outcome = PreloadTrial::kWorks;
  std::string why;  // what is wrong; or, if it works through a link, the link
};

// Starts a program with the library preloaded and recording off: the library must be loaded, and
// the loader must print nothing on standard error.
PreloadTrialResult try_preload(const Installation& installed);

}  // namespace stepscope
