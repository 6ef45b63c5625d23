// stepscope lake, stepscope fleet: hand over to the Python part in fleet/.
#include "cli/fleet.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/installation.h"
#include "cli/verb.h"

namespace stepscope::cli {
namespace {

using Words = std::vector<std::string>;

// Comes back only where there is no interpreter.
int become_python(const char* verb, const Words& words) {
  const std::filesystem::path folder = find_installation().libraries / "stepscope" / "fleet";
  if (!std::filesystem::exists(folder / "stepscope_fleet")) {
    return report_error(verb,
                        Status::error(ErrorKind::kUnavailable,
                                      folder.string() + ": not there; install Stepscope anew"));
  }
  const char* named = std::getenv("STEPSCOPE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  // By its path, not by PYTHONPATH: nothing of the user's surroundings changes.
  Words all{python, (folder / "stepscope_fleet").string(), verb};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(python.c_str(), argv.data());
  return report_error(verb,
                      Status::error(ErrorKind::kUnavailable,
                                    python + ": " + std::strerror(errno) +
                                        "; install Python 3, or name one in STEPSCOPE_PYTHON"));
}

void add_python_verb(CLI::App& app, int& exit_code, const char* name, const char* what) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->set_help_flag();  // Python's help says more
  verb->prefix_command();
  verb->callback([verb, name, &exit_code] { exit_code = become_python(name, verb->remaining()); });
}

}  // namespace

void add_lake(CLI::App& app, int& exit_code) {
  add_python_verb(app, exit_code, "lake", "Gather the steps of many recordings in a folder");
}

void add_fleet(CLI::App& app, int& exit_code) {
  add_python_verb(app, exit_code, "fleet", "Say which ranks and hosts of a lake are slow");
}

}  // namespace stepscope::cli
