// Formats the JSON of a trace; hand-written because this is the hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

// `text` as the inside of a JSON string: quotes, backslashes and control characters escaped,
// anything else as raw UTF-8 (a viewer may refuse \ud83d-style escapes), ill-formed UTF-8 replaced
// by U+FFFD.
std::string json_escaped(std::string_view text);
std::string json_quoted(std::string_view text);

// An integer, in quotes if a JSON reader that stores numbers as doubles would round it.
std::string json_integer(std::int64_t value);

// A number with at most six decimals, never in exponent form; null when it is not a number.
std::string json_number(double value);

// Room that write_integer() and write_microseconds() may need.
inline constexpr std::size_t kIntegerRoom = 20;
inline constexpr std::size_t kMicrosecondsRoom = kIntegerRoom + 4;

// Both write decimal digits at `out`, without a terminating 0, and return the end. `ns`, `value`:
// at least 0.
char* write_integer(char* out, std::uint64_t value);
char* write_microseconds(char* out, std::int64_t ns);  // "1234.567": exactly three decimals

// A JSON array of integers or of such arrays: how shapes are stored. Other text must be quoted.
bool is_json_integer_array(std::string_view text);

}  // namespace stepscope
