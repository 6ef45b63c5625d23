#include "analyzer/import/decimal.h"

#include <limits>

namespace stepscope {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// The digits of a number without its sign, taken one by one.
class Digits {
 public:
  // Digits that do not fit into 64 bits are only counted, so that 1.000…0 with any number of zeros
  // works. A value that needs them is out of range.
  void add(char c) {
    constexpr std::uint64_t kRoom = (std::numeric_limits<std::uint64_t>::max() - 9) / 10;
    if (value_ <= kRoom) {
      value_ = value_ * 10 + static_cast<std::uint64_t>(c - '0');
    } else {
      ++dropped_;
    }
  }

  // The value times 10^exponent, rounded; none if that does not fit.
  [[nodiscard]] std::optional<std::uint64_t> scaled(std::int64_t exponent) const {
    exponent += dropped_;
    std::uint64_t value = value_;
    for (; exponent > 0 && value != 0; --exponent) {
      if (value > std::numeric_limits<std::uint64_t>::max() / 10) return std::nullopt;
      value *= 10;
    }
    for (; exponent < -1 && value != 0; ++exponent) value /= 10;
    if (exponent < 0) value = value / 10 + (value % 10 >= 5 ? 1 : 0);
    return value;
  }

 private:
  std::uint64_t value_ = 0;
  std::int64_t dropped_ = 0;
};

// "e-3" and the like, at the end of a number. None if it is something else.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 4) return std::nullopt;  // 10^1000 does not fit, either way
  std::int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> with_sign(std::uint64_t magnitude, bool negative) {
  if (magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

}  // namespace

std::optional<std::int64_t> parse_scaled(std::string_view text, int exponent) {
  text = unquoted(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  Digits digits;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) digits.add(text[at]);
  std::size_t count = at;
  std::int64_t scale = exponent;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++count, --scale) digits.add(text[at]);
  }
  if (count == 0) return std::nullopt;
  const std::optional<std::int64_t> written = parse_exponent(text.substr(at));
  if (!written) return std::nullopt;
  const std::optional<std::uint64_t> magnitude = digits.scaled(scale + *written);
  return magnitude ? with_sign(*magnitude, negative) : std::nullopt;
}

}  // namespace stepscope
