#include "profiler/process/proc_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

namespace stepscope {
namespace {

constexpr std::string_view kDigits = "0123456789";

}  // namespace

// Does not use iterators: they throw when a read fails, which happens when the process ends.
std::string read_proc_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> part;
  do {
    file.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  return text;
}

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \n", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

std::vector<std::string_view> stat_fields(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return {};
  return words_in(text.substr(name_end + 1));
}

std::int64_t number_in(std::string_view text) {
  const std::size_t begin = text.find_first_of(kDigits);
  std::int64_t value = 0;
  if (begin != std::string_view::npos) {
    std::from_chars(text.data() + begin, text.data() + text.size(), value);
  }
  return value;
}

std::optional<std::int64_t> number_in_line(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key)) continue;
    const std::string_view value = line.substr(key.size());
    if (value.find_first_of(kDigits) != std::string_view::npos) return number_in(value);
  }
  return std::nullopt;
}

}  // namespace stepscope
