#include "cli/self_description.h"

#include <string>

#include "cli/completion.h"
#include "cli/described_verbs.h"
#include "cli/installation.h"
#include "cli/man_page.h"

namespace stepscope::cli {
namespace {

// What CLI11 has for "print this and end well".
[[noreturn]] void print_and_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();  // it adds one
  throw CLI::CallForVersion(text, 0);
}

}  // namespace

void add_self_description(CLI::App& app) {
  app.add_flag_callback(
      "--cmake-dir", [] { print_and_end(find_installation().cmake_package()); },
      "Print the folder of the CMake package: cmake -DStepscope_DIR=\"$(stepscope --cmake-dir)\"");
  app.add_flag_callback(
      "--man", [&app] { print_and_end(man_page(describe(app), STEPSCOPE_VERSION)); },
      "Print the manual page: stepscope --man | man -l -");
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& shell) { print_and_end(completion(describe(app), shell)); },
         "Print what completes the command line in a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace stepscope::cli
