#include "cli/terminal_text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace stepscope::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::size_t width_of(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues(c); }));
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string cut(std::string_view text, std::size_t width) {
  const bool fits = width_of(text) <= width;
  const std::size_t keep = fits ? width : width - std::min<std::size_t>(width, 1);
  std::string result;
  std::size_t used = 0;
  for (const char c : text) {
    if (!continues(c) && used++ == keep) break;
    result += is_control(c) ? '?' : c;
  }
  return fits ? result : result + "…";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string word = cut(text.substr(0, space), width);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string bar(double fraction, std::size_t width) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double bounded = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width);
  const auto eighths = static_cast<std::size_t>(std::lround(bounded * 8));
  std::string result;
  for (std::size_t i = 0; i < eighths / 8; ++i) result += "█";
  return result + kEighths[eighths % 8];
}

bool stdout_wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) == 1;
}

std::string kernel_title(const std::string& name) {
  constexpr std::string_view kVoid = "void ";
  return name.starts_with(kVoid) ? name.substr(kVoid.size()) : name;
}

}  // namespace stepscope::cli
