#include "cli/become_python.h"

#include <unistd.h>

#include <cerrno>

#include "cli/verb.h"
#include "wrap/fleet_command.h"

namespace stepscope::cli {

int become_python(const char* verb, const std::vector<std::string>& words) {
  auto command = fleet_command(verb, words);
  if (!command.ok()) return report_error(verb, command.status());
  std::vector<char*> argv;
  for (std::string& word : *command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return report_error(verb, no_python((*command)[0], errno));
}

}  // namespace stepscope::cli
