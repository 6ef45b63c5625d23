// Builds the op hooks for a libtorch that Stepscope was not built with, from the installed sources,
// into the user's cache folder.
#pragma once

#include <filesystem>
#include <functional>

#include "profiler/doctor/find_torch.h"
#include "profiler/doctor/installation.h"
#include "store/status.h"

namespace stepscope {

// Builds and tries the hooks, and only then installs them with a single rename: a process that is
// loading the hooks finds the old ones or the new ones. Takes about a minute; `tick` is called a
// few times a second. Returns the path of the library. Errors: kUnavailable (tools or sources are
// missing, or the result does not work), kIo (the build failed: the message names the log).
Result<std::filesystem::path> build_hooks(const TorchInstall& torch, const Installation& installed,
                                          const std::function<void()>& tick);

}  // namespace stepscope
