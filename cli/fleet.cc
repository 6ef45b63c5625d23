// stepscope lake, stepscope fleet: hand over to the Python part in fleet/.
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "wrap/fleet_command.h"

namespace stepscope::cli {
namespace {

using Words = std::vector<std::string>;

// Comes back only where there is no interpreter.
int become_python(const char* verb, const Words& words) {
  auto command = fleet_command(verb, words);
  if (!command.ok()) return report_error(verb, command.status());
  std::vector<char*> argv;
  for (std::string& word : *command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return report_error(verb, no_python((*command)[0], errno));
}

struct LakeArguments {
  std::string action, lake, job, run;
  Words stores;
};

struct FleetArguments {
  std::string lake, action, output, price, since;
  Words runs;
  bool json = false;
};

// An option that was given.
void append(Words& words, const char* option, const std::string& value) {
  if (!value.empty()) words.insert(words.end(), {option, value});
}

}  // namespace

// The options stand here too, so that help, the manual page and completion need no Python.
void add_lake(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LakeArguments>();
  CLI::App* verb = app.add_subcommand("lake", "Gather the steps of many recordings in a folder");
  verb->add_option("ACTION", arguments->action,
                   "add: adds stores, or replaces what is there of them")
      ->required()
      ->check(CLI::IsMember({"add"}));
  verb->add_option("STORES", arguments->stores, "analyzed stores")->required();
  verb->add_option("--lake", arguments->lake, "the folder; made if need be")->required();
  verb->add_option("--job", arguments->job,
                   "what the runs of one job share; default: the name that the run was given");
  verb->add_option("--run", arguments->run, "what the nodes of one run share; default: the job id");
  verb->footer(
      "Examples:\n"
      "  stepscope lake add node0.db node1.db --lake /shared/lake\n"
      "  stepscope lake add run.db --lake lake --run tuesday");
  verb->callback([arguments, &exit_code] {
    Words words{arguments->action};
    words.insert(words.end(), arguments->stores.begin(), arguments->stores.end());
    append(words, "--lake", arguments->lake);
    append(words, "--job", arguments->job);
    append(words, "--run", arguments->run);
    exit_code = become_python("lake", words);
  });
}

void add_fleet(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<FleetArguments>();
  CLI::App* verb = app.add_subcommand("fleet", "Say which ranks and hosts of a lake are slow");
  verb->add_option("LAKE", arguments->lake,
                   "a folder that stepscope lake add wrote, or a Parquet file of operations")
      ->required();
  verb->add_option("ACTION", arguments->action, "report: write a page instead of printing")
      ->check(CLI::IsMember({"report"}));
  verb->add_option("-o,--output", arguments->output, "the page to write, one HTML file");
  verb->add_option("--price", arguments->price, "what an hour of a rank costs, in any currency");
  verb->add_option("--run", arguments->runs, "only these runs");
  verb->add_option("--since", arguments->since, "only runs that began within 12h, 7d or 2w");
  verb->add_flag("--json", arguments->json, "print a JSON document");
  verb->footer(
      "Examples:\n"
      "  stepscope fleet /shared/lake --since 7d\n"
      "  stepscope fleet lake --run tuesday --json\n"
      "  stepscope fleet /shared/lake report -o fleet.html --price 2.50");
  verb->callback([arguments, &exit_code] {
    Words words{arguments->lake};
    if (!arguments->action.empty()) words.push_back(arguments->action);
    append(words, "--output", arguments->output);
    append(words, "--price", arguments->price);
    append(words, "--since", arguments->since);
    if (arguments->json) words.emplace_back("--json");
    if (!arguments->runs.empty()) words.emplace_back("--run");
    words.insert(words.end(), arguments->runs.begin(), arguments->runs.end());
    exit_code = become_python("fleet", words);
  });
}

}  // namespace stepscope::cli
