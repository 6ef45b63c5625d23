// The end of every sample's options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace samples {

// Reads the command line. Prints help or one line that says what is wrong with it, and ends the
// program (0 or 2), when there is nothing to run.
inline void parse_or_exit(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? EXIT_SUCCESS : 2);
  }
}

}  // namespace samples
