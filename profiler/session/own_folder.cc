#include "profiler/session/own_folder.h"

#include <dlfcn.h>

#include "stepscope/c_api.h"

namespace stepscope {

std::filesystem::path own_folder() {
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&stepscope_start), &self);
  return std::filesystem::path(self.dli_fname).parent_path();
}

}  // namespace stepscope
