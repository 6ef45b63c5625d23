#include "analyzer/text_width.h"

#include <algorithm>

#include "analyzer/printable.h"

namespace stepscope {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::size_t width_of(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues(c); }));
}

std::string cut(std::string_view raw, std::size_t width) {
  const std::string text = printable(raw);
  const bool fits = width_of(text) <= width;
  const std::size_t keep = fits ? width : width - std::min<std::size_t>(width, 1);
  std::string result;
  std::size_t used = 0;
  for (const char c : text) {
    if (!continues(c) && used++ == keep) break;
    result += c;
  }
  return fits ? result : result + "…";
}

}  // namespace stepscope
