// Files of a test, read and written as a whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stepscope::testing {

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace stepscope::testing
