// How a fuzz target says that a promise was broken.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace stepscope::fuzz {

// Ends the program with a message, unless `condition` holds.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace stepscope::fuzz
