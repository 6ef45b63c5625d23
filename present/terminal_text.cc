#include "present/terminal_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/printable.h"

namespace stepscope {
namespace {

bool is_unit(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kUnits = {"%", "×",  "ns", "µs", "ms", "s",
                                                              "B", "kB", "MB", "GB", "TB"};
  const std::string_view bare = word.substr(0, word.find_last_not_of(",.;:)") + 1);
  return std::find(kUnits.begin(), kUnits.end(), bare) != kUnits.end();
}

// The length of the beginning of `text` that stays on one line: a word, or a number and its unit.
std::size_t unbroken(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (end == text.size() || end == 0 || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::string_view rest = text.substr(end + 1);
  const std::string_view next = rest.substr(0, rest.find(' '));
  return is_unit(next) ? end + 1 + next.size() : end;
}

}  // namespace

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::vector<std::string> wrap(std::string_view raw, std::size_t width) {
  const std::string printed = printable(raw);
  std::string_view text = printed;
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = unbroken(text);
    const std::string word = cut(text.substr(0, end), width);
    text.remove_prefix(std::min(end + 1, text.size()));
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

std::string kernel_title(const std::string& name) {
  constexpr std::string_view kVoid = "void ";
  return name.starts_with(kVoid) ? name.substr(kVoid.size()) : name;
}

}  // namespace stepscope
