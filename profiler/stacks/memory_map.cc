#include "profiler/stacks/memory_map.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace stepscope {
namespace {

// Takes a hexadecimal number and the character after it off the front of `line`.
std::optional<std::uint64_t> take_number(std::string_view& line, char after) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (error != std::errc() || end == line.data() + line.size() || *end != after)
    return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return number;
}

// "7f12-7f34 r-xp 00001000 08:01 1234   /usr/bin/train"
std::optional<MappedCode> parse(std::string_view line) {
  MappedCode code;
  const auto begin = take_number(line, '-');
  const auto end = begin ? take_number(line, ' ') : std::nullopt;
  if (!end || line.size() < 5 || line[2] != 'x' || line[4] != ' ') return std::nullopt;
  line.remove_prefix(5);
  const auto offset = take_number(line, ' ');
  if (!offset || *begin >= *end) return std::nullopt;
  const std::size_t path = line.find_first_of("/[");
  if (path != std::string_view::npos) code.path = line.substr(path);
  code.begin = *begin;
  code.end = *end;
  code.offset = *offset;
  return code;
}

}  // namespace

std::vector<MappedCode> mapped_code(std::string_view maps) {
  std::vector<MappedCode> all;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    if (auto code = parse(maps.substr(0, end))) all.push_back(*std::move(code));
    maps.remove_prefix(std::min(end + 1, maps.size()));
  }
  std::ranges::sort(all, {}, &MappedCode::begin);
  return all;
}

const MappedCode* find_code(const std::vector<MappedCode>& code, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(code, address, {}, &MappedCode::begin);
  if (after == code.begin()) return nullptr;
  const MappedCode& found = *std::prev(after);
  return address < found.end ? &found : nullptr;
}

}  // namespace stepscope
