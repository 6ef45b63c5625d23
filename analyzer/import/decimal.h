// Numbers of a trace, from their text. A time in µs such as 4429449912974.101 has more digits than
// a double can hold once its base is added; its nanoseconds stay exact as long as no double is
// involved.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

// `text`, a JSON number or such a number in quotes ("12", 12.5, -3, 1.5e3), times 10^exponent, as
// an integer. Fractions are rounded to the nearest integer, halves away from 0. None when the text
// is not a number or the result does not fit.
std::optional<std::int64_t> parse_scaled(std::string_view text, int exponent);

inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_scaled(text, 0);
}
inline std::optional<std::int64_t> parse_microseconds(std::string_view text) {
  return parse_scaled(text, 3);  // as nanoseconds
}

}  // namespace stepscope
