#include "analyzer/printable.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/code_points.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

// Sorted.
constexpr std::array kUnfit = {
    CodeRange{0x0000, 0x001F},   CodeRange{0x007F, 0x009F},   CodeRange{0x00AD, 0x00AD},
    CodeRange{0x034F, 0x034F},   CodeRange{0x061C, 0x061C},   CodeRange{0x115F, 0x1160},
    CodeRange{0x17B4, 0x17B5},   CodeRange{0x180B, 0x180F},   CodeRange{0x200B, 0x200F},
    CodeRange{0x2028, 0x202E},   CodeRange{0x2060, 0x206F},   CodeRange{0x3164, 0x3164},
    CodeRange{0xFE00, 0xFE0F},   CodeRange{0xFEFF, 0xFEFF},   CodeRange{0xFFA0, 0xFFA0},
    CodeRange{0xFFF0, 0xFFFB},   CodeRange{0x1BCA0, 0x1BCA3}, CodeRange{0x1D173, 0x1D17A},
    CodeRange{0xE0000, 0xE0FFF},
};

std::size_t length_of(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Valid text with each unfit character replaced by `replace(code)`.
template <typename Replace>
std::string replace_unfit(std::string_view valid, const Replace& replace) {
  std::string text;
  text.reserve(valid.size());
  while (!valid.empty()) {
    const std::string_view bytes = valid.substr(0, length_of(static_cast<unsigned char>(valid[0])));
    const char32_t code = code_of(bytes);
    is_in(kUnfit, code) ? text.append(replace(code)) : text.append(bytes);
    valid.remove_prefix(bytes.size());
  }
  return text;
}

std::string json_escape(char32_t code) {
  if (code == '\n' || code == '\r' || code == '\t') return std::string(1, static_cast<char>(code));
  const auto value = static_cast<unsigned>(code);
  if (value < 0x10000) return fmt::format("\\u{:04x}", value);
  const unsigned rest = value - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
}

}  // namespace

std::string printable(std::string_view text) {
  // clean_utf8() also replaces U+0000.
  return replace_unfit(clean_utf8(text), [](char32_t) { return std::string("?"); });
}

std::string printable_json(std::string_view document) {
  return replace_unfit(clean_utf8(document), json_escape);
}

}  // namespace stepscope
