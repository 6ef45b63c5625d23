// Finds the libtorch versions that programs on this machine may load, without loading them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stepscope {

struct TorchInstall {
  std::filesystem::path root;     // the value for STEPSCOPE_TORCH_DIR
  std::filesystem::path library;  // its libtorch_cpu.so
  std::string version;            // "2.13.0"; empty if unknown
  std::string origin;             // "imported by python3"
  bool has_headers = false;       // hooks can be built against it
  // Programs get this libtorch unless they choose another, or the user asked for it.
  bool is_used = false;
  std::string python = {};  // the Python that imports it; empty if none was asked
};

// At most one of the two is set. If neither is, all the usual places are searched.
struct TorchQuery {
  std::string folder;
  std::string python;
};

// Searches query.folder, or the torch that query.python imports; else the torches of python and
// python3, the folders in CMAKE_PREFIX_PATH and the system folders. Lists each library once.
// Without a query, two count as in use: the torch of the first Python that has one (programs in
// Python), and the first in CMAKE_PREFIX_PATH (programs that CMake builds). If there is neither,
// the first one found is in use.
std::vector<TorchInstall> find_torch(const TorchQuery& query);

}  // namespace stepscope
