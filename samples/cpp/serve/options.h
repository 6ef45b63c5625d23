// The command-line options of the program.
#pragma once

#include <cstdint>

namespace serve {

enum class Format {
  kEager,        // op by op from C++
  kTorchScript,  // compiled from source by TorchScript, frozen
};

inline constexpr std::int64_t kHeads = 4;  // of the attention; the width must be a multiple of this

struct Options {
  Format format = Format::kEager;
  std::int64_t batch = 1;
  std::int64_t length = 32;  // tokens of each sequence
  std::int64_t width = 128;
  std::int64_t layers = 4;
  int calls = 200;
  std::uint64_t seed = 1;
  int threads = 1;  // of libtorch per op; 0: libtorch's choice
};

// Parses the command line. If there is nothing to run, prints help or one line with the error, and
// exits (0 or 2).
Options parse_options(int argc, char** argv);

}  // namespace serve
