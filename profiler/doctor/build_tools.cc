#include "profiler/doctor/build_tools.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "profiler/doctor/command.h"
#include "profiler/launch/program_file.h"

namespace stepscope {
namespace {

// The oldest versions that compile the hooks, and that their CMakeLists.txt accepts.
constexpr const char* kOldestGcc = "12";
constexpr const char* kOldestClang = "14";
constexpr const char* kOldestCMake = "3.21";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_in_path(const std::string& program) { return inspect_program(program).ok(); }

// $CXX may also contain options ("ccache g++ -m64").
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> compiler_command() {
  if (const auto chosen = words_of(variable("CXX")); !chosen.empty()) return chosen;
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (is_in_path(name)) return {name};
  }
  return {};
}

void look_for_compiler(BuildTools& tools) {
  const std::string wanted = std::string("g++ ") + kOldestGcc + " or later";
  std::vector<std::string> command = compiler_command();
  if (command.empty()) {
    tools.missing.push_back(wanted);
    return;
  }
  const std::string name = command.front();
  command.emplace_back("--version");
  const std::string answer = capture(command).output;
  const bool clang = answer.find("clang") != std::string::npos;
  const std::string version = version_in_text(answer);
  if (version_is_at_least(version, clang ? kOldestClang : kOldestGcc)) {
    tools.found.push_back((clang ? "clang++ " : "g++ ") + version);
  } else {
    tools.missing.push_back(wanted + " (" + name + " is " +
                            (version.empty() ? "not a compiler" : version) + ")");
  }
}

void look_for_cmake(BuildTools& tools) {
  const std::string version = version_in_text(capture({"cmake", "--version"}).output);
  if (version_is_at_least(version, kOldestCMake)) {
    tools.found.push_back("cmake " + version);
    return;
  }
  const std::string present = version.empty() ? "" : " (cmake is " + version + ")";
  tools.missing.push_back(std::string("CMake ") + kOldestCMake + " or later" + present);
}

void look_for_generator(BuildTools& tools) {
  if (is_in_path("ninja")) {
    tools.generator = "Ninja";
    tools.found.emplace_back("ninja");
  } else if (is_in_path("make")) {
    tools.generator = "Unix Makefiles";
    tools.found.emplace_back("make");
  } else {
    tools.missing.emplace_back("make or ninja");
  }
}

}  // namespace

BuildTools find_build_tools() {
  BuildTools tools;
  look_for_compiler(tools);
  look_for_cmake(tools);
  look_for_generator(tools);
  return tools;
}

std::string install_tools_command() {
  if (!is_in_path("apt-get")) return {};
  return std::string(geteuid() == 0 ? "" : "sudo ") + "apt-get install g++ cmake make";
}

std::string version_in_text(const std::string& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = is_digit(text[at]) && (at == 0 || text[at - 1] == ' ');
    const std::size_t end = text.find_first_not_of("0123456789.", at);
    const std::string number = text.substr(at, end - at);
    if (begins && number.find('.') != std::string::npos) return number;
  }
  return {};
}

bool version_is_at_least(const std::string& version, const std::string& wanted) {
  int has[2] = {0, 0}, least[2] = {0, 0};
  if (std::sscanf(version.c_str(), "%d.%d", &has[0], &has[1]) < 1) return false;
  std::sscanf(wanted.c_str(), "%d.%d", &least[0], &least[1]);
  return has[0] != least[0] ? has[0] > least[0] : has[1] >= least[1];
}

std::string in_words(const std::vector<std::string>& tools) {
  std::string text;
  for (const std::string& tool : tools) text += (text.empty() ? "" : ", ") + tool;
  return text;
}

}  // namespace stepscope
