// stepscope compare: what changed between two runs, and whether it is noise.
#include "analyzer/compare/compare.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/gate.h"
#include "cli/lake_run.h"
#include "cli/number_check.h"
#include "cli/open_run.h"
#include "cli/verb.h"
#include "present/comparison_json.h"
#include "present/comparison_text.h"
#include "present/comparison_words.h"
#include "present/death_words.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "compare";

struct CompareArguments {
  std::string a, b;
  std::string steps_a, steps_b;
  std::vector<std::string> gates;
  std::vector<double> per_hour, samples_per_step;  // of A and of B
  bool json = false;
  bool no_color = false;
  int top = 10;
};

// The command line, checked before any run is read.
struct Request {
  std::optional<StepSpan> steps_a, steps_b;
  std::vector<Gate> gates;
};

Result<Request> read_request(const CompareArguments& arguments) {
  Request request;
  const auto steps_a = read_step_window("--steps-a", arguments.steps_a);
  if (!steps_a.ok()) return steps_a.status();
  const auto steps_b = read_step_window("--steps-b", arguments.steps_b);
  if (!steps_b.ok()) return steps_b.status();
  request.steps_a = *steps_a;
  request.steps_b = *steps_b;
  for (const std::string& text : arguments.gates) {
    auto gate = parse_gate(text);
    if (!gate.ok()) return gate.status();
    request.gates.push_back(*std::move(gate));
  }
  return request;
}

Result<ComparedRun> read_run(const std::string& path, const std::optional<StepSpan>& steps,
                             const char* label) {
  AnalyzeOptions options;
  options.steps = steps;
  options.with_warm_up = steps.has_value();
  options.op_samples = true;
  const auto run = open_run(path, label);
  if (!run.ok()) return run.status();
  auto report = analyze_run(run->reader(), options, label);
  if (!report.ok() && report.status().kind() == ErrorKind::kUsage)
    return Status::error(ErrorKind::kUsage, path + ": " + report.status().message());
  if (!report.ok()) return report.status();
  if (report->loops.empty())
    return Status::error(ErrorKind::kBadInput, path + ": " + no_steps_text(*report));
  return ComparedRun{path, *std::move(report)};
}

Price price_of(const CompareArguments& arguments, std::size_t side) {
  if (arguments.per_hour.empty()) return {};
  return {arguments.per_hour[side],
          arguments.samples_per_step.empty() ? 0 : arguments.samples_per_step[side]};
}

bool any(const std::vector<GateOutcome>& gates, GateState state) {
  return std::any_of(gates.begin(), gates.end(),
                     [state](const GateOutcome& outcome) { return outcome.state == state; });
}

// An undecided gate must not look like one that passed.
int exit_code_of(const CompareArguments& arguments, const std::vector<GateOutcome>& gates) {
  if (any(gates, GateState::kFailed)) return kGateFailed;
  for (const GateOutcome& outcome : gates) {
    if (outcome.state != GateState::kUndecided) continue;
    return report_error(kVerb, Status::error(ErrorKind::kBadInput,
                                             arguments.b + ": gate \"" + outcome.gate.text +
                                                 "\" cannot be decided: " + doubt_text(outcome)));
  }
  return kOk;
}

int compare_in_lake(const CompareArguments& arguments, const std::optional<LakeRun>& a,
                    const std::optional<LakeRun>& b) {
  const auto usage = [](const std::string& message) {
    return report_error(kVerb, Status::error(ErrorKind::kUsage, message));
  };
  if (!a || !b || a->lake != b->lake || a->run.empty() || b->run.empty())
    return usage("name two runs of one lake, such as LAKE/run=4711 and LAKE/run=4740");
  if (!arguments.gates.empty() || !arguments.steps_a.empty() || !arguments.steps_b.empty() ||
      !arguments.per_hour.empty())
    return usage("--fail-if, --steps-a, --steps-b and --price-per-hour need stores, not a lake");
  std::vector<std::string> words{a->lake, "compare"};
  if (arguments.json) words.emplace_back("--json");
  words.insert(words.end(), {"--run", a->run, b->run});
  return become_fleet(words);
}

int run_compare(const CompareArguments& arguments) {
  const auto lake_a = lake_run_of(arguments.a);
  const auto lake_b = lake_run_of(arguments.b);
  if (lake_a || lake_b) return compare_in_lake(arguments, lake_a, lake_b);
  const auto request = read_request(arguments);
  if (!request.ok()) return report_error(kVerb, request.status());
  const auto a = read_run(arguments.a, request->steps_a, "A");
  if (!a.ok()) return report_error(kVerb, a.status());
  const auto b = read_run(arguments.b, request->steps_b, "B");
  if (!b.ok()) return report_error(kVerb, b.status());

  const Comparison comparison = compare(a->report, b->report);
  const auto gates = check_gates(request->gates, comparison);
  const ComparisonView view{
      *a, *b, comparison, gates, arguments.top, price_of(arguments, 0), price_of(arguments, 1)};
  const bool color = !arguments.no_color && stdout_wants_color();
  const Status printed =
      arguments.json ? write_json(comparison_json(view)) : write_page(comparison_text(view, color));
  if (!printed.ok()) return report_error(kVerb, printed);
  return exit_code_of(arguments, gates);
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* verb =
      app.add_subcommand(kVerb, "Say what changed between two runs, and whether it is noise");
  verb->add_option("a", arguments->a,
                   "the baseline: a recording (before.db), another profiler's trace, or a run in a "
                   "lake (LAKE/run=ID)")
      ->required();
  verb->add_option("b", arguments->b, "the run to judge, for example after.db")->required();
  verb->add_option("--fail-if", arguments->gates,
                   "exit with 1 if B exceeds this limit by more than noise; may be repeated. "
                   "GATE is METRIC>LIMIT. METRIC: step_time, p50, a category or a phase. "
                   "LIMIT: +5%, +2pp or +1ms more than in A, or 10% of the step or 5ms in B")
      ->take_all()
      ->expected(1)
      ->type_name("GATE");
  CLI::Option* price = verb->add_option("--price-per-hour", arguments->per_hour,
                                        "price per hour of all machines of each run")
                           ->delimiter(',')
                           ->expected(2)
                           ->type_name("A,B")
                           ->check(positive_number());
  verb->add_option("--samples-per-step", arguments->samples_per_step,
                   "samples per step of all ranks together, to show the cost of a sample")
      ->delimiter(',')
      ->expected(2)
      ->type_name("A,B")
      ->check(positive_number())
      ->needs(price);
  verb->add_flag("--json", arguments->json, "print one JSON document (docs/cli.md lists its keys)");
  verb->add_option("--steps-a", arguments->steps_a, "only these steps of A, for example 500-520");
  verb->add_option("--steps-b", arguments->steps_b, "only these steps of B");
  verb->add_option("--top", arguments->top, "how many ops to list")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  verb->add_flag("--no-color", arguments->no_color,
                 "no colours (also: NO_COLOR in the environment)");
  verb->footer(
      "Examples:\n"
      "  stepscope compare before.db after.db\n"
      "  stepscope compare main.db branch.db --fail-if 'step_time>+5%' --fail-if 'input>10%'\n"
      "  stepscope compare /shared/lake/run=4711 /shared/lake/run=4740\n"
      "  stepscope compare run.db run.db --steps-a 2-400 --steps-b 401-800\n"
      "  stepscope compare cpus.db gpu.db --price-per-hour 3.40,2.10 --samples-per-step 512,128\n"
      "  stepscope compare before.db after.db --json | jq '.change, .step_time.mean.relative'\n"
      "Exit codes: 0 success; 1 a gate failed; 2 wrong usage; 3 a store is missing, broken, or "
      "has no\n"
      "training step, or a gate cannot be decided.");
  verb->callback([arguments, &exit_code] { exit_code = run_compare(*arguments); });
}

}  // namespace stepscope::cli
