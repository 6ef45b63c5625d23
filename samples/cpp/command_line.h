// Options shared by several samples.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace samples {

inline void add_threads(CLI::App& app, int& threads) {
  app.add_option("--threads", threads, "libtorch threads per op (0: libtorch's choice)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

// The width of an encoder's embeddings, divided among its `heads`.
inline void add_width(CLI::App& app, std::int64_t& width, std::int64_t heads) {
  const std::string multiple = "a multiple of " + std::to_string(heads);
  app.add_option("--width", width, "width of the embeddings, " + multiple)
      ->check(CLI::Range(heads, std::int64_t{4096}))
      ->check([heads, multiple](const std::string& text) {
        return std::stoll(text) % heads == 0 ? std::string() : "'" + text + "' is not " + multiple;
      })
      ->capture_default_str();
}

// Parses the command line. If there is nothing to run, prints help or one line with the error, and
// exits (0 or 2).
inline void parse_or_exit(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? EXIT_SUCCESS : 2);
  }
}

}  // namespace samples
