// What was installed with this `stepscope`, and where it is.
#pragma once

#include <filesystem>

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

// From the place of the binary, as installed or in the build tree: beside bin/.
Installation find_installation();

// The same for who records with it. Errors: kUnavailable, the library that programs preload is not
// there.
Result<Installation> ready_installation();

}  // namespace stepscope
