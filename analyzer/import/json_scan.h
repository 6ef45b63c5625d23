// Finds the end of a JSON object without parsing it, to cut a stream of events into pieces.
#pragma once

#include <cstddef>
#include <string_view>

namespace stepscope {

// The position after the '}' that closes the object beginning at text[from] ('{'); npos when the
// text ends before it. Ignores braces in strings; does not check that the rest is JSON. 64 bytes at
// a time where the processor has SSE2, else as end_of_object_bytewise().
std::size_t end_of_object(std::string_view text, std::size_t from);

// The same, a byte at a time: the reference for testing the fast one.
std::size_t end_of_object_bytewise(std::string_view text, std::size_t from);

// The state of a walk over JSON text, kept from one piece of it to the next.
struct JsonWalk {
  bool in_string = false;
  bool escaped = false;   // the byte before was an escaping backslash
  std::size_t depth = 0;  // open braces and brackets

  void take(char c);
};

}  // namespace stepscope
