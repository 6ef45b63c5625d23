// The command-line options of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "samples/cpp/encoder/batches.h"

namespace encoder {

inline constexpr std::int64_t kHeads = 4;  // of the attention; the width must be a multiple of this

struct Options {
  std::size_t sentences = 512;
  Mode mode = Mode::kBatch;
  std::size_t batch = 32;
  bool sorted = false;
  std::int64_t width = 256;
  std::int64_t layers = 4;
  std::uint64_t seed = 1;
  int threads = 0;  // of libtorch per op; 0: libtorch's choice
};

// Parses the command line. If there is nothing to run, prints help or one line with the error, and
// exits (0 or 2).
Options parse_options(int argc, char** argv);

}  // namespace encoder
