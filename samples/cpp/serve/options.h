// What the program can be told on its command line.
#pragma once

#include <cstdint>

namespace serve {

enum class Format {
  kEager,        // op by op from C++
  kTorchScript,  // compiled from source by TorchScript, frozen
};

inline constexpr std::int64_t kHeads = 4;  // of the attention; a width is a multiple of it

struct Options {
  Format format = Format::kEager;
  std::int64_t batch = 1;
  std::int64_t length = 32;  // tokens of each sequence
  std::int64_t width = 128;
  std::int64_t layers = 4;
  int calls = 200;
  std::uint64_t seed = 1;
  int threads = 1;  // libtorch's for one op, 0: its own choice
};

// Reads the command line. Prints help or one line that says what is wrong with it, and ends the
// program (0 or 2), when there is nothing to run.
Options parse_options(int argc, char** argv);

}  // namespace serve
