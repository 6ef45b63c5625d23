// stepscope lake, stepscope fleet: start the Python part in fleet/.
#include <memory>
#include <string>
#include <vector>

#include "cli/become_python.h"
#include "cli/verb.h"

namespace stepscope::cli {
namespace {

using Words = std::vector<std::string>;

struct LakeArguments {
  std::string action, lake, job, run, groups;
  Words stores;
};

struct FleetArguments {
  std::string lake, action, output, price, since, engine, master;
  Words runs;
  bool json = false;
};

// Appends the option if it was given, also if its value is empty.
void append(Words& words, const CLI::App& verb, const char* option, const std::string& value) {
  if (verb.count(option) > 0) words.insert(words.end(), {option, value});
}

}  // namespace

// The options are declared here too, so that help, the manual page and completion need no Python.
void add_lake(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LakeArguments>();
  CLI::App* verb = app.add_subcommand("lake", "Gather the steps of many recordings in a folder");
  verb->add_option("ACTION", arguments->action,
                   "add: add stores; if the lake already has steps of a store, replace them")
      ->required()
      ->check(CLI::IsMember({"add"}));
  verb->add_option("STORES", arguments->stores, "analyzed stores")->required();
  verb->add_option("--lake", arguments->lake,
                   "the folder of the lake, created if it is missing, or its address in an object "
                   "store: s3://bucket/lake")
      ->required();
  verb->add_option("--job", arguments->job,
                   "name that all runs of the job share; default: the name given to the run");
  verb->add_option("--run", arguments->run,
                   "name that all nodes of the run share; default: the job id");
  verb->add_option("--groups", arguments->groups,
                   "sizes of the parallel groups if the recording does not have them, that of "
                   "neighbouring ranks first: tp=2,dp=4,pp=2");
  verb->footer(
      "Examples:\n"
      "  stepscope lake add node0.db node1.db --lake /shared/lake\n"
      "  stepscope lake add run.db --lake lake --run tuesday\n"
      "  stepscope lake add run.db --lake s3://bucket/lake");
  verb->callback([arguments, verb, &exit_code] {
    Words words{arguments->action};
    words.insert(words.end(), arguments->stores.begin(), arguments->stores.end());
    append(words, *verb, "--lake", arguments->lake);
    append(words, *verb, "--job", arguments->job);
    append(words, *verb, "--run", arguments->run);
    append(words, *verb, "--groups", arguments->groups);
    exit_code = become_python("lake", words);
  });
}

void add_fleet(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<FleetArguments>();
  CLI::App* verb = app.add_subcommand("fleet", "Say which ranks and hosts of a lake are slow");
  verb->add_option("LAKE", arguments->lake,
                   "a folder or an address that stepscope lake add wrote to, or a Parquet file of "
                   "operations")
      ->required();
  verb->add_option("ACTION", arguments->action,
                   "report: write an HTML page instead of printing; compare: say what differs "
                   "between two runs")
      ->check(CLI::IsMember({"report", "compare"}));
  verb->add_option("-o,--output", arguments->output,
                   "the page to write, one HTML file; - is standard output");
  verb->add_option("--price", arguments->price, "price of one rank per hour, in any currency");
  verb->add_option("--run", arguments->runs, "only these runs");
  verb->add_option("--since", arguments->since,
                   "only runs that began within this time: 12h, 7d, 2w");
  verb->add_option("--engine", arguments->engine,
                   "duckdb (the default), or spark for a lake that is too large for one machine")
      ->check(CLI::IsMember({"duckdb", "spark"}));
  verb->add_option("--master", arguments->master,
                   "with --engine spark: the address of its master; default: local[*]");
  verb->add_flag("--json", arguments->json, "print a JSON document");
  verb->footer(
      "Examples:\n"
      "  stepscope fleet /shared/lake --since 7d\n"
      "  stepscope fleet lake --run tuesday --json\n"
      "  stepscope fleet lake compare --run monday tuesday\n"
      "  stepscope fleet /shared/lake --engine spark --master spark://head:7077\n"
      "  stepscope fleet /shared/lake report -o fleet.html --price 2.50");
  verb->callback([arguments, verb, &exit_code] {
    Words words{arguments->lake};
    if (!arguments->action.empty()) words.push_back(arguments->action);
    append(words, *verb, "--output", arguments->output);
    append(words, *verb, "--price", arguments->price);
    append(words, *verb, "--since", arguments->since);
    append(words, *verb, "--engine", arguments->engine);
    append(words, *verb, "--master", arguments->master);
    if (arguments->json) words.emplace_back("--json");
    if (!arguments->runs.empty()) words.emplace_back("--run");
    words.insert(words.end(), arguments->runs.begin(), arguments->runs.end());
    exit_code = become_python("fleet", words);
  });
}

}  // namespace stepscope::cli
