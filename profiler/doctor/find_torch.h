// Finds the libtorches that programs on this machine may load, without loading one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stepscope {

struct TorchInstall {
  std::filesystem::path root;     // what STEPSCOPE_TORCH_DIR would name
  std::filesystem::path library;  // its libtorch_cpu.so
  std::string version;            // "2.13.0"; empty when it could not be told
  std::string origin;             // "imported by python3"
  bool has_headers = false;       // hooks can be built against it
};

// At most one of the two; with neither, everywhere where programs usually have theirs from.
struct TorchQuery {
  std::string folder;
  std::string python;
};

// Looks at query.folder; at the torch that query.python imports; else at the torch of python3, the
// folders in CMAKE_PREFIX_PATH and the system's own. Each library once.
std::vector<TorchInstall> find_torch(const TorchQuery& query);

}  // namespace stepscope
