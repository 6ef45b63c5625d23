#include "store/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stepscope {
namespace {

// What may follow a lead byte: how many bytes the sequence has, and the bounds of its second byte
// (the others are 80..BF). length 0: no sequence begins with this byte.
struct Lead {
  std::size_t length;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

constexpr Lead lead_of(std::uint8_t byte) {
  if (byte >= 0x01 && byte <= 0x7F) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};  // below: overlong
  if (byte == 0xED) return {3, 0x80, 0x9F};  // above: surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};  // below: overlong
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // above: beyond U+10FFFF
  return {0, 0, 0};
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Part {
  std::size_t length;  // at least 1
  bool valid;
};

// The character at the start of `text`, or the maximal subpart that is ill-formed. `text` is not
// empty.
Part first_part(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.length == 0) return {1, false};
  std::size_t length = 1;
  while (length < lead.length && length < text.size()) {
    const std::uint8_t min = length == 1 ? lead.second_min : 0x80;
    const std::uint8_t max = length == 1 ? lead.second_max : 0xBF;
    if (byte(length) < min || byte(length) > max) break;
    ++length;
  }
  return {length, length == lead.length};
}

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) > 0; });
}

}  // namespace

bool is_clean_utf8(std::string_view text) {
  if (is_plain_ascii(text)) return true;
  while (!text.empty()) {
    const Part part = first_part(text);
    if (!part.valid) return false;
    text.remove_prefix(part.length);
  }
  return true;
}

std::size_t offset_before_cleaning(std::string_view text, std::size_t offset) {
  std::size_t before = 0;
  std::size_t clean = 0;
  while (before < text.size()) {
    const Part part = first_part(text.substr(before));
    clean += part.valid ? part.length : kReplacement.size();
    if (clean > offset) break;
    before += part.length;
  }
  return before;
}

std::string clean_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Part part = first_part(text);
    clean.append(part.valid ? text.substr(0, part.length) : kReplacement);
    text.remove_prefix(part.length);
  }
  return clean;
}

std::string in_capitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

}  // namespace stepscope
