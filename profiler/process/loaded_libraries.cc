#include "profiler/process/loaded_libraries.h"

#include <link.h>

#include <new>
#include <utility>

namespace stepscope {

std::vector<std::string> loaded_library_paths() {
  struct Found {
    std::vector<std::string> paths;
    bool out_of_memory = false;
  } found;
  // No exception may propagate through the C library's frame, which belongs to another unwinder.
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) noexcept {
        auto& to = *static_cast<Found*>(data);
        const char* path = info->dlpi_name;  // empty: the program itself
        if (path == nullptr || *path == '\0') return 0;
        try {
          to.paths.emplace_back(path);
        } catch (const std::bad_alloc&) {
          to.out_of_memory = true;
        }
        return to.out_of_memory ? 1 : 0;
      },
      &found);
  if (found.out_of_memory) throw std::bad_alloc();
  return std::move(found.paths);
}

std::string loaded_library_path(std::string_view prefix) {
  for (std::string& path : loaded_library_paths()) {
    const auto file = std::string_view(path).substr(path.rfind('/') + 1);
    if (file.starts_with(prefix)) return std::move(path);
  }
  return {};
}

}  // namespace stepscope
