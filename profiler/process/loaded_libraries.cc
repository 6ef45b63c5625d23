#include "profiler/process/loaded_libraries.h"

#include <link.h>

#include <new>

namespace stepscope {

namespace {

// Calls visit(path) for each library in load order, until it returns false. A library stays where
// it is meanwhile: the walk holds the loader's lock. Throws std::bad_alloc like `visit`.
template <typename Visit>
void visit_libraries(Visit visit) {
  struct Walk {
    Visit& visit;
    bool out_of_memory = false;
  } walk{visit};
  // No exception may propagate through the C library's frame, which belongs to another unwinder.
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) noexcept {
        auto& at = *static_cast<Walk*>(data);
        const char* path = info->dlpi_name;  // empty: the program itself
        if (path == nullptr || *path == '\0') return 0;
        try {
          return at.visit(std::string_view(path)) ? 0 : 1;
        } catch (const std::bad_alloc&) {
          at.out_of_memory = true;
          return 1;
        }
      },
      &walk);
  if (walk.out_of_memory) throw std::bad_alloc();
}

}  // namespace

std::vector<std::string> loaded_library_paths() {
  std::vector<std::string> paths;
  visit_libraries([&](std::string_view path) {
    paths.emplace_back(path);
    return true;
  });
  return paths;
}

// The loop of a program may wait for this, so that only the path that was asked for is copied.
std::string loaded_library_path(std::string_view prefix) {
  std::string found;
  visit_libraries([&](std::string_view path) {
    const bool is_it = path.substr(path.rfind('/') + 1).starts_with(prefix);
    if (is_it) found = path;
    return !is_it;
  });
  return found;
}

}  // namespace stepscope
