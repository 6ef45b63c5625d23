#include "analyzer/text_width.h"

#include <algorithm>
#include <array>

#include "analyzer/code_points.h"
#include "analyzer/printable.h"

namespace stepscope {
namespace {

// Sorted. East_Asian_Width W and F of Unicode 15 (EastAsianWidth.txt), without the gaps that no
// character is assigned to.
constexpr std::array kWide = {
    CodeRange{0x1100, 0x115F},   CodeRange{0x231A, 0x231B},   CodeRange{0x2329, 0x232A},
    CodeRange{0x23E9, 0x23EC},   CodeRange{0x23F0, 0x23F0},   CodeRange{0x23F3, 0x23F3},
    CodeRange{0x25FD, 0x25FE},   CodeRange{0x2614, 0x2615},   CodeRange{0x2648, 0x2653},
    CodeRange{0x267F, 0x267F},   CodeRange{0x2693, 0x2693},   CodeRange{0x26A1, 0x26A1},
    CodeRange{0x26AA, 0x26AB},   CodeRange{0x26BD, 0x26BE},   CodeRange{0x26C4, 0x26C5},
    CodeRange{0x26CE, 0x26CE},   CodeRange{0x26D4, 0x26D4},   CodeRange{0x26EA, 0x26EA},
    CodeRange{0x26F2, 0x26F3},   CodeRange{0x26F5, 0x26F5},   CodeRange{0x26FA, 0x26FA},
    CodeRange{0x26FD, 0x26FD},   CodeRange{0x2705, 0x2705},   CodeRange{0x270A, 0x270B},
    CodeRange{0x2728, 0x2728},   CodeRange{0x274C, 0x274C},   CodeRange{0x274E, 0x274E},
    CodeRange{0x2753, 0x2755},   CodeRange{0x2757, 0x2757},   CodeRange{0x2795, 0x2797},
    CodeRange{0x27B0, 0x27B0},   CodeRange{0x27BF, 0x27BF},   CodeRange{0x2B1B, 0x2B1C},
    CodeRange{0x2B50, 0x2B50},   CodeRange{0x2B55, 0x2B55},   CodeRange{0x2E80, 0x303E},
    CodeRange{0x3041, 0x3247},   CodeRange{0x3250, 0x4DBF},   CodeRange{0x4E00, 0xA4C6},
    CodeRange{0xA960, 0xA97C},   CodeRange{0xAC00, 0xD7A3},   CodeRange{0xF900, 0xFAFF},
    CodeRange{0xFE10, 0xFE19},   CodeRange{0xFE30, 0xFE6B},   CodeRange{0xFF01, 0xFF60},
    CodeRange{0xFFE0, 0xFFE6},   CodeRange{0x16FE0, 0x1B2FB}, CodeRange{0x1F004, 0x1F004},
    CodeRange{0x1F0CF, 0x1F0CF}, CodeRange{0x1F18E, 0x1F18E}, CodeRange{0x1F191, 0x1F19A},
    CodeRange{0x1F200, 0x1F320}, CodeRange{0x1F32D, 0x1F335}, CodeRange{0x1F337, 0x1F37C},
    CodeRange{0x1F37E, 0x1F393}, CodeRange{0x1F3A0, 0x1F3CA}, CodeRange{0x1F3CF, 0x1F3D3},
    CodeRange{0x1F3E0, 0x1F3F0}, CodeRange{0x1F3F4, 0x1F3F4}, CodeRange{0x1F3F8, 0x1F43E},
    CodeRange{0x1F440, 0x1F440}, CodeRange{0x1F442, 0x1F4FC}, CodeRange{0x1F4FF, 0x1F53D},
    CodeRange{0x1F54B, 0x1F54E}, CodeRange{0x1F550, 0x1F567}, CodeRange{0x1F57A, 0x1F57A},
    CodeRange{0x1F595, 0x1F596}, CodeRange{0x1F5A4, 0x1F5A4}, CodeRange{0x1F5FB, 0x1F64F},
    CodeRange{0x1F680, 0x1F6C5}, CodeRange{0x1F6CC, 0x1F6CC}, CodeRange{0x1F6D0, 0x1F6D2},
    CodeRange{0x1F6D5, 0x1F6DF}, CodeRange{0x1F6EB, 0x1F6EC}, CodeRange{0x1F6F4, 0x1F6FC},
    CodeRange{0x1F7E0, 0x1F7F0}, CodeRange{0x1F90C, 0x1F93A}, CodeRange{0x1F93C, 0x1F945},
    CodeRange{0x1F947, 0x1F9FF}, CodeRange{0x1FA70, 0x1FAF8}, CodeRange{0x20000, 0x3FFFD},
};

// Sorted. The blocks of combining marks, which take no column of their own.
constexpr std::array kCombining = {
    CodeRange{0x0300, 0x036F}, CodeRange{0x1AB0, 0x1AFF}, CodeRange{0x1DC0, 0x1DFF},
    CodeRange{0x20D0, 0x20FF}, CodeRange{0xFE20, 0xFE2F},
};

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The first character of `text`, which is not empty, with the bytes that continue it.
std::string_view first_character(std::string_view text) {
  const auto end = std::find_if_not(text.begin() + 1, text.end(), continues);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

std::size_t columns_of(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (lead < 0xC0 || character.size() > 4) return continues(character[0]) ? 0 : 1;
  const char32_t code = code_of(character);
  if (is_in(kCombining, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

}  // namespace

std::size_t width_of(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const std::string_view character = first_character(utf8);
    width += columns_of(character);
    utf8.remove_prefix(character.size());
  }
  return width;
}

std::string cut(std::string_view raw, std::size_t width) {
  const std::string text = printable(raw);
  if (width_of(text) <= width) return text;
  std::string result;
  std::size_t used = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view character = first_character(rest);
    used += columns_of(character);
    if (used + 1 > width) break;  // one column is for the "…"
    result += character;
    rest.remove_prefix(character.size());
  }
  return width == 0 ? "" : result + "…";
}

}  // namespace stepscope
