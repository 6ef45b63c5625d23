// Builds the op hooks for a libtorch that Stepscope was not built with, from the installed sources,
// into the user's cache folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "profiler/doctor/find_torch.h"
#include "store/status.h"

namespace stepscope {

// What is installed, and where; the same in a build tree.
struct Installation {
  std::filesystem::path libraries;  // holds libstepscope.so and stepscope/
  std::filesystem::path sources;    // of the hooks, laid out as in the source tree

  [[nodiscard]] std::filesystem::path libstepscope() const { return libraries / "libstepscope.so"; }
  // What Python programs are given to import first.
  [[nodiscard]] std::filesystem::path python_hooks() const {
    return libraries / "stepscope" / "python" / "inject";
  }
  // A project by itself.
  [[nodiscard]] std::filesystem::path hook_project() const { return sources / "profiler/hooks"; }
};

// Builds, tries, and only then puts into place, in one rename: a process that is about to load the
// hooks finds the ones before or these. Takes a minute or so; `tick` is called a few times a
// second. Returns the path of the library. Errors: kUnavailable (nothing to build with or from;
// what was built does not work), kIo (the build failed: the message names the log).
Result<std::filesystem::path> build_hooks(const TorchInstall& torch, const Installation& installed,
                                          const std::function<void()>& tick);

}  // namespace stepscope
