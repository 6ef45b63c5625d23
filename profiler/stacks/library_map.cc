#include "profiler/stacks/library_map.h"

#include <algorithm>

#include "store/utf8.h"

namespace stepscope {
namespace {

constexpr std::string_view kBaseNames[] = {"python3",  "python",       "libpython", "libc.so",
                                           "libc-2",   "ld-linux",     "libm.so",   "libm-2",
                                           "libdl",    "libpthread",   "librt",     "libstdc++",
                                           "libgcc_s", "libstepscope", "libffi"};

bool is_of_torch(std::string_view path, std::string_view name) {
  const auto in = [path](std::string_view folder) {
    return path.find(folder) != std::string_view::npos;
  };
  return name.starts_with("libtorch") || name.starts_with("libc10") || in("/torch/_C.") ||
         in("/torch/lib/") || in("/torch.libs/");
}

}  // namespace

bool is_base_code(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto begins = [name](std::string_view base) { return name.starts_with(base); };
  return std::ranges::any_of(kBaseNames, begins) || is_of_torch(path, name) ||
         path.find("/stepscope/torch-") != std::string_view::npos ||
         path.find("/lib-dynload/") != std::string_view::npos;
}

void LibraryMap::set(std::string_view maps, Clock::time_point now) {
  read_at_ = now;
  code_ = mapped_code(maps);
  for (MappedCode& code : code_) {
    const bool is_file = code.path.starts_with('/');
    code.path = is_file && !is_base_code(code.path) ? clean_utf8(code.path) : "";
  }
}

const std::string& LibraryMap::library_at(std::uint64_t address) const {
  static const std::string kNone;
  const MappedCode* const code = find_code(code_, address);
  return code == nullptr ? kNone : code->path;
}

}  // namespace stepscope
