// Finds the libtorch versions that programs on this machine may load, without loading them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stepscope {

struct TorchInstall {
  std::filesystem::path root;     // the value for STEPSCOPE_TORCH_DIR
  std::filesystem::path library;  // its libtorch_cpu.so
  std::string version;            // "2.13.0"; empty when unknown
  std::string origin;             // "imported by python3"
  bool has_headers = false;       // hooks can be built against it
  // What programs get that do nothing special about it, or the one that was asked for.
  bool is_used = false;
  std::string python = {};  // the Python that imports it; empty if none was asked
};

// At most one of the two; with neither, all the usual places.
struct TorchQuery {
  std::string folder;
  std::string python;
};

// Searches query.folder, or the torch that query.python imports; else the torches of python and
// python3, the folders in CMAKE_PREFIX_PATH and the system folders. Lists each library once. Of the
// latter, those in use are that of the first Python that has one (programs in Python) and the first
// in CMAKE_PREFIX_PATH (programs that CMake builds); where there is neither, the first of all.
std::vector<TorchInstall> find_torch(const TorchQuery& query);

}  // namespace stepscope
