// Code points of UTF-8, and tables of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace stepscope {

struct CodeRange {
  char32_t first, last;
};

// `ranges`: sorted.
template <std::size_t Size>
bool is_in(const std::array<CodeRange, Size>& ranges, char32_t code) {
  const auto range = std::ranges::lower_bound(ranges, code, {}, &CodeRange::last);
  return range != ranges.end() && code >= range->first;
}

// The code point of `bytes`, one character of valid UTF-8.
inline char32_t code_of(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  char32_t code = bytes.size() == 1 ? lead : lead & (0xFFU >> (bytes.size() + 1));
  for (const char c : bytes.substr(1))
    code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

}  // namespace stepscope
