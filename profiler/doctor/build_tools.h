// The tools for building hooks: a C++20 compiler, CMake, and its build program.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct BuildTools {
  std::vector<std::string> found;    // "g++ 12.2.0", "cmake 3.25.1", "ninja 1.11.1"
  std::vector<std::string> missing;  // "g++ 12 or later (c++ is 9.4.0)"
  std::string generator;             // of CMake: "Ninja", "Unix Makefiles"

  [[nodiscard]] bool complete() const { return missing.empty(); }
};

// Searches PATH; the compiler is $CXX, else the one that CMake would use.
BuildTools find_build_tools();

// What was found, or what is missing, in one line: "g++ 12.2.0, cmake 3.25.1".
std::string in_words(const std::vector<std::string>& tools);

// The command that installs them all on a Debian-based system; empty elsewhere.
std::string install_tools_command();

// The first "12.2.0" in a program's answer to --version; empty if there is none.
std::string version_in_text(const std::string& text);

// Whether `version` ("3.25.1") is at least `wanted` ("3.21"); an unknown one is not.
bool version_is_at_least(const std::string& version, const std::string& wanted);

}  // namespace stepscope
