// stepscope analyze: where each step's time went, and why.
#include "analyzer/analyze.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/verdict/ranks.h"
#include "cli/lake_run.h"
#include "cli/number_check.h"
#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/death_words.h"
#include "present/report_json.h"
#include "present/report_modules.h"
#include "present/report_text.h"
#include "present/stored_analysis.h"
#include "store/trace_writer.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "analyze";

struct AnalyzeArguments {
  std::string store;
  std::string steps;
  bool json = false;
  bool modules = false;
  bool no_color = false;
  bool no_write = false;
  Price price;
  int top = 5;
  std::optional<std::int64_t> rank;
};

void note(const std::string& message) {
  print_line(stderr, std::string("stepscope ") + kVerb + ": " + message);
}

// If the results cannot be written back, they are still printed: a note, not a failure.
void write_back(const AnalyzeArguments& arguments, const AnalysisReport& report) {
  if (arguments.no_write || report.only) return;
  if (report.run.being_recorded) {
    note(arguments.store + ": still being recorded; the results are printed, not stored");
    return;
  }
  auto writer = TraceWriter::open(arguments.store);
  Status status = writer.ok() ? (*writer)->replace_analysis(to_analysis(report)) : writer.status();
  if (status.ok()) status = (*writer)->finish();
  if (!status.ok()) note("the results are printed, not stored: " + status.message());
}

// A lake has the steps of many stores, and no ops.
int analyze_lake(const AnalyzeArguments& arguments, const LakeRun& run) {
  if (arguments.rank || arguments.modules || !arguments.steps.empty()) {
    return report_error(
        kVerb, Status::error(ErrorKind::kUsage, arguments.store +
                                                    ": is in a lake; --rank, --steps and --modules "
                                                    "need one of its stores"));
  }
  std::vector<std::string> words{run.lake};
  if (arguments.json) words.emplace_back("--json");
  if (!run.run.empty()) words.insert(words.end(), {"--run", run.run});
  return become_fleet(words);
}

int run_analyze(const AnalyzeArguments& arguments) {
  if (const auto run = lake_run_of(arguments.store)) return analyze_lake(arguments, *run);
  AnalyzeOptions options;
  const auto steps = read_step_window("--steps", arguments.steps);
  if (!steps.ok()) return report_error(kVerb, steps.status());
  options.steps = *steps;
  options.with_warm_up = steps->has_value();
  const auto run = open_run(arguments.store);
  if (!run.ok()) return report_error(kVerb, run.status());
  auto report = analyze_run(run->reader(), options);
  if (!report.ok()) return report_error(kVerb, report.status());
  if (!run->imported()) write_back(arguments, *report);
  if (arguments.rank) {
    const Status kept = keep_rank(*report, *arguments.rank);
    if (!kept.ok()) return report_error(kVerb, kept);
  }

  TextOptions text_options;
  text_options.store = arguments.store;
  text_options.imported = run->imported();
  text_options.color = !arguments.no_color && stdout_wants_color();
  text_options.top = arguments.top;
  text_options.price = arguments.price;
  text_options.one_rank = arguments.rank.has_value();
  const auto page = [&] {
    const bool modules = arguments.modules && !report->loops.empty();
    return modules ? modules_text(*report, Palette{text_options.color})
                   : text_report(*report, text_options);
  };
  const Status printed = arguments.json
                             ? write_json(json_report(*report, arguments.top, arguments.price))
                             : write_page(page());
  if (!printed.ok()) return report_error(kVerb, printed);
  if (!report->loops.empty()) return kOk;
  return report_error(
      kVerb, Status::error(ErrorKind::kBadInput, arguments.store + ": " + no_steps_text(*report)));
}

}  // namespace

void add_analyze(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* verb =
      app.add_subcommand(kVerb, "Say where each step's time went, why, and what would help");
  verb->add_option("store", arguments->store,
                   "the recording, for example run.db, another profiler's trace, or a run in a "
                   "lake: LAKE/run=ID")
      ->required();
  verb->add_flag("--json", arguments->json, "print one JSON document (docs/cli.md lists its keys)");
  verb->add_flag("--modules", arguments->modules,
                 "print the tree of the model's modules instead (Python; docs/modules.md)");
  verb->add_option(
      "--steps", arguments->steps,
      "analyze only these steps, for example 500-520; the store keeps the analysis of the "
      "whole run");
  verb->add_option("--rank", arguments->rank,
                   "show only this rank of a distributed run; default: the whole job");
  verb->add_option("--top", arguments->top, "how many ops to list")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  CLI::Option* price =
      verb->add_option("--price-per-hour", arguments->price.per_hour,
                       "price of the machines per hour, to show the cost of a sample")
          ->check(positive_number());
  verb->add_option("--samples-per-step", arguments->price.samples_per_step,
                   "samples per batch, if the program does not mark their lengths")
      ->check(positive_number())
      ->needs(price);
  verb->add_flag("--no-color", arguments->no_color,
                 "no colours (also: NO_COLOR in the environment)");
  verb->add_flag("--no-write", arguments->no_write, "do not write the results to the store");
  verb->footer(
      "Examples:\n"
      "  stepscope analyze run.db\n"
      "  stepscope analyze run.db --steps 500-520 --top 20\n"
      "  stepscope analyze run.db --modules\n"
      "  stepscope analyze run.db --rank 3\n"
      "  stepscope analyze trace.json.gz\n"
      "  stepscope analyze /shared/lake/run=4711\n"
      "  stepscope analyze run.db --price-per-hour 1.20 --samples-per-step 64\n"
      "  stepscope analyze run.db --json | jq '.verdict.kind, .shares.input'\n"
      "Exit codes: 0 success; 2 wrong usage; 3 the store is missing, broken, or has no training "
      "step.");
  verb->callback([arguments, &exit_code] { exit_code = run_analyze(*arguments); });
}

}  // namespace stepscope::cli
