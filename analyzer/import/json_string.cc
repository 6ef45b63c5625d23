#include "analyzer/import/json_string.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace stepscope {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

void append_utf8(std::uint32_t code, std::string& out) {
  const auto byte = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

// The code unit of "\uXXXX" at the front of `text`.
std::optional<std::uint32_t> code_unit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      unit = unit << 4 | static_cast<std::uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      unit = unit << 4 | static_cast<std::uint32_t>(lower - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return unit;
}

// Appends what the "\u…" at the front of `text` stands for. Returns its length, or 0 if there is
// none.
std::size_t append_unicode(std::string_view text, std::string& out) {
  const std::optional<std::uint32_t> unit = code_unit(text);
  if (!unit) return 0;
  if (*unit < 0xD800 || *unit > 0xDFFF) {
    append_utf8(*unit, out);
    return 6;
  }
  const std::optional<std::uint32_t> low = code_unit(text.substr(6));
  if (*unit < 0xDC00 && low && *low >= 0xDC00 && *low <= 0xDFFF) {
    append_utf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), out);
    return 12;
  }
  append_utf8(kReplacement, out);
  return 6;
}

// As append_unicode(), for any escape; `text` begins with a backslash.
std::size_t append_escape(std::string_view text, std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  if (text.size() < 2) return 0;
  if (text[1] == 'u') return append_unicode(text, out);
  const std::size_t at = kLetters.find(text[1]);
  if (at == std::string_view::npos) return 0;
  out.push_back(kMeaning[at]);
  return 2;
}

}  // namespace

std::string_view unescape_json(std::string_view literal, std::string& buffer) {
  if (literal.size() < 2 || literal.front() != '"' || literal.back() != '"') return literal;
  const std::string_view body = literal.substr(1, literal.size() - 2);
  std::size_t escape = body.find('\\');
  if (escape == std::string_view::npos) return body;
  buffer.clear();
  std::size_t done = 0;
  while (escape != std::string_view::npos) {
    buffer.append(body, done, escape - done);
    const std::size_t length = append_escape(body.substr(escape), buffer);
    done = escape + length;
    if (length == 0) buffer.push_back(body[done++]);
    escape = body.find('\\', done);
  }
  buffer.append(body, done);
  return buffer;
}

}  // namespace stepscope
