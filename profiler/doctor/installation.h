// What was installed with this `stepscope`, and where it is.
#pragma once

#include <filesystem>

#include "store/status.h"

namespace stepscope {

// The installed files and their folders; the same in a build tree.
struct Installation {
  std::filesystem::path libraries;  // contains libstepscope.so.0 and stepscope/
  std::filesystem::path sources;    // of the hooks, laid out as in the source tree

  // Under the name that programs load; the name that they are linked with may not be installed.
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
  // A separate CMake project.
  [[nodiscard]] std::filesystem::path hook_project() const { return sources / "profiler/hooks"; }
};

// Derived from the location of the binary, installed or in the build tree: the folders beside bin/.
Installation find_installation();

// The same, for recording. Errors: kUnavailable, the library that programs preload is missing.
Result<Installation> ready_installation();

}  // namespace stepscope
