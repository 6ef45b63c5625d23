// The command-line options of the program.
#pragma once

#include <cstdint>
#include <string>

namespace mnist {

struct Options {
  std::string data;  // folder of MNIST's files; empty: drawn digits
  std::uint32_t train_images = 60'000;
  std::uint32_t test_images = 10'000;

  bool cache = false;  // decode each image once
  int prefetch = 0;    // threads that prepare batches in the background

  int epochs = 2;
  int batch = 128;
  std::uint64_t seed = 1;
  int threads = 1;  // of libtorch per op; 0: libtorch's choice. This model gains nothing from more

  std::string record = "mnist.db";  // empty: record nothing
  std::int64_t first_step = 500;    // 1-based, inclusive; 0: from the start
  std::int64_t last_step = 520;     // 0: to the end
};

// Parses the command line. If there is nothing to run, prints help or one line with the error, and
// exits (0 or 2).
Options parse_options(int argc, char** argv);

}  // namespace mnist
