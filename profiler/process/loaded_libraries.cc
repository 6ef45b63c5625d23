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
  // The loop of a program may wait for this, so that only the path that was asked for is copied. A
  // library stays where it is while the walk holds the loader's lock.
  struct Search {
    std::string_view prefix;
    std::string path;
    bool out_of_memory = false;
  } search{prefix};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) noexcept {
        auto& to = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (!path.substr(path.rfind('/') + 1).starts_with(to.prefix)) return 0;
        try {
          to.path = path;
        } catch (const std::bad_alloc&) {
          to.out_of_memory = true;
        }
        return 1;
      },
      &search);
  if (search.out_of_memory) throw std::bad_alloc();
  return std::move(search.path);
}

}  // namespace stepscope
