// Runs the `stepscope` binary as a script would.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace stepscope::testing {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// The arguments are handed over as they are. Standard output and error are no terminals.
Outcome run_program(const std::vector<std::string>& program_and_arguments);
Outcome run_stepscope(std::vector<std::string> arguments);

std::string contents(const std::filesystem::path& path);
std::size_t lines_in(const std::string& text);

}  // namespace stepscope::testing
