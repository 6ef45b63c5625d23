// Copies text into fixed-size fields of shared memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace stepscope {

// Copies as much of `text` as fits, and a NUL.
inline void copy_text(char* to, std::size_t size, std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace stepscope
