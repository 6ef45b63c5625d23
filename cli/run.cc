// stepscope run: wraps a program, unchanged, and records it.
#include <memory>
#include <string>

#include "cli/number_check.h"
#include "cli/store_output.h"
#include "cli/verb.h"
#include "metrics/listen_address.h"
#include "wrap/add_to_lake.h"
#include "wrap/wrapped_run.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "run";

// Returns an error, or "" if the text is valid.
std::string is_duration(const std::string& text) {
  double seconds = 0;
  const bool is_number = CLI::detail::lexical_cast(text, seconds);
  constexpr double kYearS = 366.0 * 24 * 3600;
  if (is_number && seconds > 0 && seconds <= kYearS) return "";
  return text + " is not a number of seconds above 0 and below a year";
}

// Returns an error, or "" if the text is valid.
std::string is_listen_address(const std::string& text) {
  const auto address = read_listen_address(text);
  return address.ok() ? "" : address.status().message() + "; put -- before the program";
}

// Returns an error, or "" if the text is valid.
std::string is_given(const std::string& text) {
  return text.empty() ? "the value is empty; omit the option or give it a value" : "";
}

// Returns --metrics, whose value is optional.
const CLI::Option* add_metrics_options(CLI::App& verb, MetricsArguments& arguments) {
  const CLI::Option* metrics =
      verb.add_option("--metrics", arguments.address,
                      "serve live metrics to Prometheus and W&B, on this port or address and port")
          ->expected(0, 1)
          ->check(is_listen_address)
          ->type_name("[ADDRESS:]PORT")
          ->default_str(std::to_string(kMetricsPort));
  verb.add_option("--metrics-interval", arguments.interval_s,
                  "seconds between two updates of the metrics")
      ->check(number_in(0.2, 3600))
      ->capture_default_str();
  return metrics;
}

void add_watch_option(CLI::App& verb, CLI::Option& lake, double& seconds) {
  constexpr double kShortestS = 2;
  constexpr double kLongestS = 86'400;
  verb.add_option("--watch-lake", seconds,
                  "record the ops of a rank for a block of steps after it has been slower than the "
                  "others for this many seconds (120)")
      ->expected(0, 1)
      ->check(number_in(kShortestS, kLongestS))
      ->type_name("[SECONDS]")
      ->default_str("120")
      ->needs(&lake);
}

// Returns an error, or "" if the options go together.
std::string contradiction(const CLI::App& verb, const RunArguments& arguments) {
  const auto given = [&verb](const char* option) { return verb.count(option) > 0; };
  const auto clash = [](const std::string& one, const std::string& other) {
    return one + " and " + other + " contradict each other; omit one";
  };
  const bool phases = arguments.tier == "phases";
  const bool all = arguments.ops == "all";
  if (phases || arguments.ops == "never") {
    for (const char* window : {"--steps", "--schedule", "--duration"})
      if (given(window)) return clash(phases ? "--tier phases" : "--ops never", window);
  }
  if (phases && all) return clash("--tier phases", "--ops all");
  if (all && given("--budget")) return clash("--ops all", "--budget");
  return {};
}

int run(const RunArguments& arguments) {
  const Status output = check_store_output(arguments.output);
  if (!output.ok()) return report_error(kVerb, output);
  if (arguments.watch_lake_s > 0 && is_address(arguments.lake)) {
    return report_error(
        kVerb, Status::error(ErrorKind::kUsage,
                             arguments.lake + ": is in an object store, but --watch-lake needs a "
                                              "folder that all nodes share; omit --watch-lake"));
  }
  const auto end = run_wrapped(arguments);
  if (!end.ok()) return report_error(kVerb, end.status());
  if (!end->refused.ok()) static_cast<void>(report_error(kVerb, end->refused));
  return end->exit_code;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* verb =
      app.add_subcommand(kVerb, "Run a program, unchanged, and record its training steps");
  verb->add_option("-o,--output", arguments->output,
                   "the store to write; an earlier one is renamed to FILE.old once the program "
                   "loads libtorch. {job}, {host}, {node}, {rank} and {run} are replaced by the "
                   "names and numbers of this run")
      ->capture_default_str();
  verb->add_option(
          "--job", arguments->job,
          "name of the job, for this run and later ones; default: the scheduler's job name")
      ->check(is_given);
  CLI::Option* lake =
      verb->add_option("--lake", arguments->lake,
                       "add the run to this lake, every minute and at the end (see `stepscope lake "
                       "--help`)")
          ->check(is_given);
  add_watch_option(*verb, *lake, arguments->watch_lake_s);
  verb->add_option(
          "--steps", arguments->steps,
          "record ops only in these steps, for example 500-520; phases are always recorded")
      ->check(is_given);
  verb->add_option("--schedule", arguments->schedule,
                   "record ops in cycles of steps: wait=100,warmup=5,active=10,repeat=3")
      ->check(is_given);
  verb->add_option("--duration", arguments->duration_s,
                   "record ops for this many seconds after the first step")
      ->check(is_duration);
  verb->add_option("--tier", arguments->tier,
                   "ops: record every op; phases: record only input, backward and optimizer")
      ->check(CLI::IsMember({"ops", "phases"}))
      ->capture_default_str();
  verb->add_option("--ops", arguments->ops,
                   "auto: record ops in as many steps as the budget allows; all: in every step; "
                   "never: the same as --tier phases")
      ->check(CLI::IsMember({"auto", "all", "never"}))
      ->capture_default_str();
  verb->add_flag("--no-lines", arguments->no_lines,
                 "do not record which lines of code take the time");
  verb->add_option("--lines-rate", arguments->lines_rate,
                   "stack samples per second that find the lines of Python code, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_flag(
      "--modules", arguments->modules,
      "record the calls of a Python model's modules in steps with ops (costs 2 to 5 us a "
      "call)");
  verb->add_option("--budget", arguments->budget,
                   "the share of the run's time that recording may cost, for example 0.5%; it "
                   "does not limit --steps, --schedule or --duration")
      ->capture_default_str();
  verb->add_flag("--shapes", arguments->shapes,
                 "record the input shapes of each op (costs about 1 us per op)");
  verb->add_option("--ring-mib", arguments->ring_mib, "size of each thread's buffer, in MiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  const CLI::Option* metrics = add_metrics_options(*verb, arguments->metrics);
  verb->add_flag("--quiet", arguments->quiet, "print only errors");
  verb->add_flag("--no-analysis", arguments->no_analysis, "print no verdict at the end");
  verb->add_option("program", arguments->program, "the program and its arguments, after --")
      ->required();
  verb->prefix_command(false);
  verb->positionals_at_end();
  verb->footer(
      "Examples:\n"
      "  stepscope run -- python train.py --epochs 2\n"
      "  stepscope run -o run.db --steps 500-520 -- ./train\n"
      "  stepscope run --ops all -- ./train\n"
      "  stepscope run --metrics -- python train.py\n"
      "  stepscope run --tier phases -- torchrun --nproc-per-node 2 train.py\n"
      "Exit code: the program's own, or 128 + the signal that killed it; 126 or 127 if it cannot "
      "be\n"
      "started; 2 wrong usage; 3 the store cannot be written.");
  verb->callback([verb, arguments, metrics, &exit_code] {
    const std::string wrong = contradiction(*verb, *arguments);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
    arguments->metrics.wanted = metrics->count() > 0;
    exit_code = run(*arguments);
  });
}

}  // namespace stepscope::cli
