// Numbers of a trace, from their text. A time in µs such as 4429449912974.101 has more digits than
// a double can hold once its base is added; its nanoseconds are exact all the same when no double
// is on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

// `text`, a JSON number or such a number in quotes ("12", 12.5, -3, 1.5e3), times 10^exponent, as
// an integer. What is smaller than 1 is rounded to the nearest, halves away from 0. None when the
// text is no number or the result does not fit.
std::optional<std::int64_t> parse_scaled(std::string_view text, int exponent);

inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_scaled(text, 0);
}
inline std::optional<std::int64_t> parse_microseconds(std::string_view text) {
  return parse_scaled(text, 3);  // as nanoseconds
}

}  // namespace stepscope
