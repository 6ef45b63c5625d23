// What the program can be told on its command line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "samples/cpp/encoder/batches.h"

namespace encoder {

inline constexpr std::int64_t kHeads = 4;  // of the attention; a width is a multiple of it

struct Options {
  std::size_t sentences = 512;
  Mode mode = Mode::kBatch;
  std::size_t batch = 32;
  bool sorted = false;
  std::int64_t width = 256;
  std::int64_t layers = 4;
  std::uint64_t seed = 1;
  int threads = 0;  // libtorch's for one op, 0: its own choice
};

// Reads the command line. Prints help or one line that says what is wrong with it, and ends the
// program (0 or 2), when there is nothing to run.
Options parse_options(int argc, char** argv);

}  // namespace encoder
