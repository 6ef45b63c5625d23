#include "cli/self_description.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "present/manual/completion.h"
#include "present/manual/described_verbs.h"
#include "present/manual/man_page.h"
#include "profiler/doctor/installation.h"

namespace stepscope::cli {
namespace {

// The allowed values: of "TEXT:{ops,phases}", ops and phases.
std::vector<std::string> choices_in(std::string_view type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos) return choices;
  std::string_view rest = type.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    choices.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return choices;
}

DescribedOption describe_option(const CLI::Option& option) {
  DescribedOption described;
  described.is_positional = option.get_snames().empty() && option.get_lnames().empty();
  if (described.is_positional) described.names = {option.get_name(true)};
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    described.value = type.substr(0, type.find_first_of(":{"));
    described.choices = choices_in(type);
    described.default_value = option.get_default_str();
  }
  described.text = option.get_description();
  return described;
}

DescribedVerb describe_verb(const CLI::App& app) {
  DescribedVerb verb{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) verb.options.push_back(describe_option(*option));
  }
  return verb;
}

// Hidden options are left out.
DescribedProgram describe(const CLI::App& app) {
  DescribedProgram program{describe_verb(app), {}};
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) program.verbs.push_back(describe_verb(*verb));
  }
  return program;
}

// How CLI11 prints a text and exits with success.
[[noreturn]] void print_and_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();  // CLI11 adds one
  throw CLI::CallForVersion(text, 0);
}

std::string cmake_package() {
  const std::filesystem::path folder = find_installation().cmake_package();
  if (!std::filesystem::exists(folder / "StepscopeConfig.cmake")) {
    throw CLI::ValidationError(
        "--cmake-dir", folder.string() +
                           ": no such folder; a build tree has no CMake package until it is "
                           "installed: cmake --install BUILD --prefix FOLDER");
  }
  return folder;
}

}  // namespace

void add_self_description(CLI::App& app) {
  app.add_flag_callback(
      "--cmake-dir", [] { print_and_end(cmake_package()); },
      "Print the folder of the CMake package: cmake -DStepscope_DIR=\"$(stepscope --cmake-dir)\"");
  app.add_flag_callback(
      "--man", [&app] { print_and_end(man_page(describe(app), STEPSCOPE_VERSION)); },
      "Print the manual page: stepscope --man | man -l -");
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& shell) { print_and_end(completion(describe(app), shell)); },
         "Print the completion script for a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace stepscope::cli
