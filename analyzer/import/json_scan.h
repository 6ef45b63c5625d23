// Where a JSON object ends, without parsing it: how a stream of events is cut into pieces.
#pragma once

#include <cstddef>
#include <string_view>

namespace stepscope {

// The place after the '}' that closes the object which begins at text[from] ('{'); npos when the
// text ends before. Braces in strings do not count; whether the rest is JSON is not looked at.
// 64 bytes at a time where the processor has SSE2, else as end_of_object_bytewise().
std::size_t end_of_object(std::string_view text, std::size_t from);

// The same, a byte at a time: what the fast one is tested against.
std::size_t end_of_object_bytewise(std::string_view text, std::size_t from);

// The state of a walk over JSON text, kept from one piece of it to the next.
struct JsonWalk {
  bool in_string = false;
  bool escaped = false;   // the byte before was an escaping backslash
  std::size_t depth = 0;  // open braces and brackets

  void take(char c);
};

}  // namespace stepscope
