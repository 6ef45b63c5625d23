// The absolute form of a path that need not exist.
#pragma once

#include <filesystem>
#include <system_error>

namespace stepscope {

// If the current folder was removed, `path` itself: whoever opens it then reports what is wrong.
inline std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute;
}

}  // namespace stepscope
