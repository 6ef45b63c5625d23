// Builds the op hooks for a libtorch that Stepscope was not built with, from the installed sources,
// into the user's cache folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "profiler/doctor/find_torch.h"
#include "store/status.h"

namespace stepscope {

// The installed files and their folders; the same in a build tree.
struct Installation {
  std::filesystem::path libraries;  // holds libstepscope.so.0 and stepscope/
  std::filesystem::path sources;    // of the hooks, laid out as in the source tree

  // By the name that programs need; the one that they are linked with may not be installed.
  [[nodiscard]] std::filesystem::path libstepscope() const {
    return libraries / "libstepscope.so.0";
  }
  // The folder that Python programs import from first.
  [[nodiscard]] std::filesystem::path python_hooks() const {
    return libraries / "stepscope" / "python" / "inject";
  }
  // What find_package(Stepscope) reads.
  [[nodiscard]] std::filesystem::path cmake_package() const {
    return libraries / "cmake" / "Stepscope";
  }
  // A project of its own.
  [[nodiscard]] std::filesystem::path hook_project() const { return sources / "profiler/hooks"; }
};

// Builds and tries the hooks, and only then installs them with a single rename: a process that is
// loading the hooks finds the old ones or the new ones. Takes about a minute; `tick` is called a
// few times a second. Returns the path of the library. Errors: kUnavailable (no tools or no
// sources; the result does not work), kIo (the build failed: the message names the log).
Result<std::filesystem::path> build_hooks(const TorchInstall& torch, const Installation& installed,
                                          const std::function<void()>& tick);

}  // namespace stepscope
