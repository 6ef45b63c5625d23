#include "viewer-export/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "store/utf8.h"

namespace stepscope {
namespace {

constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;

// "00" to "99": two digits a division.
constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

void put_pair(char* out, std::uint64_t below_100) {
  std::memcpy(out, kDigitPairs.data() + 2 * below_100, 2);
}

int digits_of(std::uint64_t value) {
  int digits = 1;
  for (; value >= 10'000; value /= 10'000) digits += 4;
  return digits + (value >= 10) + (value >= 100) + (value >= 1'000);
}

void append_escaped(std::string& out, char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (byte < 0x20) {
        out += "\\u00";
        out += kHex[byte >> 4];
        out += kHex[byte & 15];
      } else {
        out += c;
      }
  }
}

}  // namespace

std::string json_escaped(std::string_view text) {
  std::string clean;
  if (!is_clean_utf8(text)) {
    clean = clean_utf8(text);
    text = clean;
  }
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) append_escaped(escaped, c);
  return escaped;
}

std::string json_quoted(std::string_view text) {
  std::string quoted("\"");
  quoted += json_escaped(text);
  quoted += '"';
  return quoted;
}

std::string json_integer(std::int64_t value) {
  const std::string digits = std::to_string(value);
  if (value <= kExactInDouble && value >= -kExactInDouble) return digits;
  return json_quoted(digits);
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 400> digits{};  // the largest double has 309 before the point
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                          std::chars_format::fixed, 6);
  std::string text(digits.data(), end);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

char* write_integer(char* out, std::uint64_t value) {
  char* const end = out + digits_of(value);
  char* at = end;
  for (; value >= 100; value /= 100) put_pair(at -= 2, value % 100);
  if (value >= 10) {
    put_pair(at - 2, value);
  } else {
    at[-1] = static_cast<char>('0' + value);
  }
  return end;
}

char* write_microseconds(char* out, std::int64_t ns) {
  const auto value = static_cast<std::uint64_t>(ns);
  out = write_integer(out, value / 1000);
  const std::uint64_t fraction = value % 1000;
  out[0] = '.';
  out[1] = static_cast<char>('0' + fraction / 100);
  put_pair(out + 2, fraction % 100);
  return out + 4;
}

bool is_json_integer_array(std::string_view text) {
  // A state machine over "[", "]", "," and integers; spaces are left to json_quoted().
  int depth = 0;
  enum { kValue, kFirstOrEnd, kAfterValue, kMinus, kZero, kDigits } state = kValue;
  for (const char c : text) {
    const bool may_begin = state == kValue || state == kFirstOrEnd;
    const bool may_end = state == kAfterValue || state == kZero || state == kDigits;
    const bool digit = c >= '0' && c <= '9';
    if (c == '[' && may_begin && (depth > 0 || state == kValue)) {
      ++depth;
      state = kFirstOrEnd;
    } else if (depth == 0) {
      return false;  // a bare number, or text after the array
    } else if (c == ']' && (may_end || state == kFirstOrEnd)) {
      --depth;
      state = kAfterValue;
    } else if (c == ',' && may_end) {
      state = kValue;
    } else if (c == '-' && may_begin) {
      state = kMinus;
    } else if (digit && (may_begin || state == kMinus)) {
      state = c == '0' ? kZero : kDigits;
    } else if (!digit || state != kDigits) {
      return false;
    }
  }
  return depth == 0 && state == kAfterValue;
}

}  // namespace stepscope
