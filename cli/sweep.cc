// stepscope sweep: runs one program at many settings, and says which is best.
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/number_check.h"
#include "cli/store_output.h"
#include "cli/verb.h"
#include "present/death_words.h"
#include "present/sweep_json.h"
#include "present/sweep_text.h"
#include "profiler/doctor/installation.h"
#include "store/counted.h"
#include "store/temporary_folder.h"
#include "sweep/analyze_sweep.h"
#include "sweep/plan.h"
#include "sweep/sweeper.h"
#include "terminal/progress_line.h"
#include "terminal/terminal_out.h"

namespace stepscope::cli {
namespace {

constexpr const char* kVerb = "sweep";

int print_result(const SweepArguments& arguments) {
  const auto data = read_sweep(arguments.output);
  if (!data.ok()) return report_error(kVerb, data.status());
  const SweepReport report = analyze_sweep(*data);
  const bool color = !arguments.no_color && stdout_wants_color();
  const Status printed = arguments.json ? write_json(sweep_json(report, arguments.output))
                                        : write_page(sweep_text(report, arguments.output, color));
  return printed.ok() ? kOk : report_error(kVerb, printed);
}

Result<SweepEnd> measure(const SweepArguments& arguments, const SweepJob& job) {
  const auto installed = ready_installation();
  if (!installed.ok()) return installed.status();
  SweepSetup setup{*installed, {}, no_steps_text, {}};
  std::optional<TemporaryFolder> folder;
  if (!arguments.keep_runs) {
    auto made = TemporaryFolder::make();
    if (!made.ok()) return made.status();
    folder = *std::move(made);
    setup.folder = folder->path();
  }
  ProgressLine line(std::chrono::milliseconds(300));
  setup.progress = [&line](const auto& text) { line.update(text); };
  return run_sweep(arguments, job, setup);
}

// Reports the measurements even if the sweep was interrupted.
int sweep(const SweepArguments& arguments) {
  const Status output = check_store_output(arguments.output);
  if (!output.ok()) return report_error(kVerb, output);
  const auto job = plan_sweep(arguments);
  if (!job.ok()) return report_error(kVerb, job.status());
  const auto end = measure(arguments, *job);
  if (!end.ok()) return report_error(kVerb, end.status());
  const int printed = print_result(arguments);
  if (end->stopped_by == 0) return printed;
  print_line(stderr, "stepscope sweep: stopped; " +
                         counted(end->remaining, "run remains", "runs remain") +
                         "; run the same command again to resume");
  return 128 + end->stopped_by;
}

void add_show(CLI::App& verb, int& exit_code) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* show = verb.add_subcommand("show", "Print the result of a sweep, finished or not");
  show->add_option("store", arguments->output, "the sweep, for example sweep.db")->required();
  show->add_flag("--json", arguments->json,
                 "print one JSON document (docs/sweep.md lists its keys)");
  show->add_flag("--no-color", arguments->no_color,
                 "no colours (also: NO_COLOR in the environment)");
  show->callback([arguments, &exit_code] { exit_code = print_result(*arguments); });
}

void add_what_is_swept(CLI::App& verb, SweepArguments& arguments) {
  verb.add_option("-o,--output", arguments.output, "the sweep to write; an existing one is resumed")
      ->capture_default_str();
  verb.add_option(
          "-p,--parameter", arguments.parameters,
          "NAME=VALUE,VALUE,…: values to substitute for {NAME}; 1..64*2 and 1..10+1 are ranges")
      ->take_all()
      ->expected(1)
      ->type_name("NAME=VALUES");
  verb.add_option("--variant", arguments.variants,
                  "NAME='COMMAND': a command to compare; replaces the one after --")
      ->take_all()
      ->expected(1)
      ->type_name("NAME=COMMAND");
  verb.add_option("--samples-per-step", arguments.samples_per_step,
                  "samples per step: a product such as {batch}*{length} (default: {batch})");
  verb.add_option("--samples-per-run", arguments.samples_per_run, "samples per run");
  verb.add_option("program", arguments.program, "the program and its arguments, after --");
}

void add_how(CLI::App& verb, SweepArguments& arguments) {
  verb.add_option("--repeats", arguments.repeats, "runs of each setting, one per round")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.add_option("--warmup", arguments.warmup,
                  "steps to leave out at the start of each run (default: detected)")
      ->check(CLI::Range(0, 1'000'000'000));
  verb.add_option("--timeout", arguments.timeout_s, "time limit of a run, in seconds; 0: none")
      ->check(number_in(0, 1e9))
      ->capture_default_str();
  verb.add_option("--memory-limit", arguments.memory_limit,
                  "limit on the address space of each process, like `ulimit -v`: 512M, 2G");
  verb.add_option("--seed", arguments.seed, "seed for the order of the runs in each round")
      ->capture_default_str();
  verb.add_option("--tier", arguments.tier,
                  "phases; or ops, which also finds unmarked steps but slows the program down")
      ->check(CLI::IsMember({"ops", "phases"}))
      ->capture_default_str();
  verb.add_flag("--keep-runs", arguments.keep_runs, "keep every recording, in OUTPUT.runs");
  verb.add_flag("--restart", arguments.restart,
                "start over; the earlier sweep is kept as OUTPUT.old");
  verb.add_flag("--retry", arguments.retry, "run the settings that failed again");
  verb.add_flag("--json", arguments.json, "print one JSON document (docs/sweep.md lists its keys)");
  verb.add_flag("--no-color", arguments.no_color, "no colours (also: NO_COLOR in the environment)");
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* verb = app.add_subcommand(
      kVerb, "Run a program at many settings and say which is best, and what limits it");
  add_what_is_swept(*verb, *arguments);
  add_how(*verb, *arguments);
  add_show(*verb, exit_code);
  verb->prefix_command(false);
  verb->positionals_at_end();
  verb->footer(
      "Examples:\n"
      "  stepscope sweep -p batch=1..64*2 -p length=8,64 -- ./serve --batch {batch} --length "
      "{length}\n"
      "  stepscope sweep -p batch=1,2,4,8 --memory-limit 2G -- python train.py --batch {batch}\n"
      "  stepscope sweep --variant old='venv1/bin/python t.py' --variant new='venv2/bin/python "
      "t.py'\n"
      "  stepscope sweep show sweep.db --json | jq '.scans[0].best'\n"
      "Run the same command again to resume an interrupted sweep.\n"
      "Exit codes: 0 success; 2 wrong usage; 3 every setting failed or nothing could be recorded; "
      "128 + N\nsignal N stopped the sweep.");
  verb->callback([verb, arguments, &exit_code] {
    if (verb->get_subcommands().empty()) exit_code = sweep(*arguments);
  });
}

}  // namespace stepscope::cli
