// stepscope run: wraps a program, unchanged, and records it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/installation.h"
#include "cli/open_run.h"
#include "cli/run_lake.h"
#include "cli/run_metrics.h"
#include "cli/run_output.h"
#include "cli/run_summary.h"
#include "cli/run_window.h"
#include "cli/terminal_out.h"
#include "cli/verb.h"
#include "present/run_text.h"
#include "profiler/identity/program_name.h"
#include "profiler/launch/child.h"
#include "profiler/launch/preload_folder.h"
#include "profiler/launch/program_file.h"
#include "profiler/recorder/run_meta.h"
#include "profiler/recorder/run_recorder.h"
#include "store/contained.h"
#include "sweep/command_words.h"

namespace stepscope::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kVerb = "run";
// What a shell returns for these.
constexpr int kCannotExecute = 126;
constexpr int kNoSuchProgram = 127;

struct RunArguments {
  std::string output = "run.db";
  std::string job;
  std::string lake;
  std::string steps;
  std::string schedule;
  double duration_s = 0;
  std::string tier = "ops";
  std::string ops = "auto";
  std::string budget = "2%";
  bool shapes = false;
  bool no_lines = false;
  bool modules = false;
  int lines_rate = StackSampler::kDefaultRate;
  std::size_t ring_mib = 2;
  bool quiet = false;
  bool no_analysis = false;
  MetricsArguments metrics;
  std::vector<std::string> program;
};

Result<RunPlan> plan_of(const RunArguments& arguments) {
  RunPlan plan;
  plan.ring_bytes = arguments.ring_mib << 20;
  plan.source_folders = source_folders(arguments.program);
  plan.replace_late = true;
  plan.record.phases_only = arguments.tier == "phases" || arguments.ops == "never" ? 1 : 0;
  plan.record.shapes = arguments.shapes ? 1 : 0;
  plan.lines_rate = arguments.no_lines ? 0 : arguments.lines_rate;
  const auto steps = read_step_window("--steps", arguments.steps);
  if (!steps.ok()) return steps.status();
  if (*steps) {
    plan.record.first_step = (*steps)->first;
    plan.record.last_step = (*steps)->last;
  }
  if (Status status = read_schedule(arguments.schedule, plan.record); !status.ok()) return status;
  const auto budget = read_budget(arguments.budget);
  if (!budget.ok()) return budget.status();
  const bool windowed = *steps || plan.record.active > 0 || arguments.duration_s > 0;
  if (arguments.ops == "auto" && !windowed) plan.record.budget_ppm = budget_ppm(*budget);
  return plan;
}

Meta meta_of(const RunArguments& arguments) {
  Meta meta = program_meta(arguments.program);
  meta.insert(meta.end(),
              {{"stepscope_version", STEPSCOPE_VERSION},
               {"command", command_line(arguments.program)},
               {"window", window_text(arguments.steps, arguments.schedule, arguments.duration_s)},
               {"torch_version", ""}});
  if (!arguments.job.empty()) {
    meta.emplace_back("job_name", arguments.job);
    if (own_identity().job_id.empty()) meta.emplace_back("job_id", arguments.job);
  }
  return meta;
}

// A line on the terminal that says how it goes; nothing elsewhere. The program's own output has the
// line to itself: it is written over ours.
class LiveLine {
 public:
  explicit LiveLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~LiveLine() {
    if (shown_) clear_status();
  }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const RunProgress& now) {
    if (!wanted_ || Clock::now() < next_ || now.processes == 0) return;
    next_ = Clock::now() + 500ms;
    show_status(live_text(now));
    shown_ = true;
  }

 private:
  bool wanted_;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now() + 2s;
};

// --duration: ops are recorded for so long from the first step on.
class DurationLimit {
 public:
  explicit DurationLimit(double seconds) : seconds_(seconds) {}
  void apply(RunRecorder& recorder) {
    if (seconds_ <= 0 || over_ || recorder.progress().step == 0) return;
    if (!begun_) begin_ = Clock::now();
    begun_ = true;
    if (std::chrono::duration<double>(Clock::now() - begin_).count() < seconds_) return;
    over_ = true;
    recorder.switch_ops(OpsSwitch::kOff);
  }

 private:
  double seconds_;
  bool begun_ = false;
  bool over_ = false;
  Clock::time_point begin_;
};

int watch(const RunArguments& arguments, const Child& child, RunRecorder& recorder,
          MetricsOfRun& metrics) {
  const std::string command = command_line(arguments.program);
  LiveLine line(!arguments.quiet);
  DurationLimit duration(arguments.duration_s);
  recorder.program_started(child.pid());
  std::optional<ChildEnd> ended;
  while (!(ended = child.ended())) {
    recorder.wait(child.fd());
    child.pass_signals_on();
    recorder.tick();
    duration.apply(recorder);
    static_cast<void>(contained([&] {
      if (recorder.has_store()) metrics.follow(arguments.output);
      line.show(recorder.progress());
      return Status();
    }));
  }
  recorder.program_ended(child.pid(), ended->wait_status, command);
  return ended->wait_status;
}

void say(const std::string& line) { print_line(stderr, "stepscope: " + line); }

int refuse_program(const Status& status) {
  (void)report_error(kVerb, status);
  return status.kind() == ErrorKind::kNotFound ? kNoSuchProgram : kCannotExecute;
}

// Whether the store holds its analysis now.
bool tell_the_end(const RunArguments& arguments, RunRecorder& recorder, const Status& finished) {
  const std::vector<std::string> notices = recorder.take_notices();
  for (const std::string& notice : notices) say(notice);
  if (!finished.ok()) {
    say("recording stopped before the program ended: " + finished.message());
    return false;
  }
  // Whoever reads the store next must know that it is another run's.
  const std::string still =
      recorder.has_store() ? "" : "; " + arguments.output + " is still the earlier recording";
  if (arguments.quiet && still.empty()) return false;
  const RunProgress progress = recorder.progress();
  if (progress.processes == 0) {
    if (!notices.empty() && still.empty()) return false;  // it came, and was refused
    say(name_program(arguments.program).name +
        " never loaded libtorch: there was nothing to record" + still);
    return false;
  }
  return !arguments.no_analysis && print_summary(arguments.output, progress);
}

// With what was recorded until then, where the recording stopped early.
void join_lake(const RunArguments& arguments, const RunRecorder& recorder, bool analyzed) {
  if (arguments.lake.empty() || !recorder.has_store()) return;
  if (recorder.progress().processes == 0) return;
  const std::string failed = add_to_lake(arguments.output, arguments.lake, analyzed);
  if (!failed.empty()) say(failed);
}

int run_program(RunArguments arguments) {
  const auto program = inspect_program(arguments.program[0]);
  if (!program.ok()) return refuse_program(program.status());
  if (arguments.output.empty()) {
    return report_error(kVerb, Status::error(ErrorKind::kUsage, "-o: name a file"));
  }
  const auto output = output_of(arguments.output, arguments.job, arguments.program);
  if (!output.ok()) return report_error(kVerb, output.status());
  arguments.output = *output;
  const auto plan = plan_of(arguments);
  if (!plan.ok()) return report_error(kVerb, plan.status());
  const auto installed = ready_installation();
  if (!installed.ok()) return report_error(kVerb, installed.status());
  if (program->is_static) {
    say(arguments.program[0] + ": statically linked; it runs, but nothing of it can be seen");
  }
  const auto folder = PreloadFolder::open(installed->libraries);
  if (!folder.ok()) return report_error(kVerb, folder.status());
  auto metrics = MetricsOfRun::open(arguments.metrics, arguments.job, arguments.program);
  if (!metrics.ok()) return report_error(kVerb, metrics.status());
  auto recorder = RunRecorder::start(arguments.output, meta_of(arguments), *plan);
  if (!recorder.ok()) return report_error(kVerb, recorder.status());
  const Installation named{folder->path(), installed->sources};
  auto environment = environment_for(*program, (*recorder)->socket_path(),
                                     named.libstepscope().string(), named.python_hooks().string());
  if (arguments.modules) environment.emplace_back("STEPSCOPE_MODULES", "1");
  metrics->add_to(environment);
  const auto child = Child::start(arguments.program, environment);
  if (!child.ok()) {
    (*recorder)->discard();
    return refuse_program(child.status());
  }
  // From here on the program's exit code is ours, whatever happens to the recording.
  for (const std::string& line : metrics->start(arguments.quiet)) say(line);
  const int wait_status = watch(arguments, *child, **recorder, *metrics);
  metrics->stop_reading();
  const Status finished = (*recorder)->finish();
  for (const std::string& line : metrics->finish()) say(line);
  const Status told = contained([&] {
    join_lake(arguments, **recorder, tell_the_end(arguments, **recorder, finished));
    return Status();
  });
  if (!told.ok()) say("no summary: " + told.message());
  return exit_code_of(wait_status);
}

// Empty, or what is wrong.
std::string is_duration(const std::string& text) {
  double seconds = 0;
  const bool is_number = CLI::detail::lexical_cast(text, seconds);
  constexpr double kYearS = 366.0 * 24 * 3600;
  if (is_number && seconds > 0 && seconds <= kYearS) return "";
  return text + " is not a number of seconds above 0 and below a year";
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* verb =
      app.add_subcommand(kVerb, "Run a program, unchanged, and record its training steps");
  verb->add_option("-o,--output", arguments->output,
                   "the store to write; an earlier one is kept as FILE.old once there is something "
                   "to record. {job}, {host}, {node}, {rank} and {run} stand for what they say")
      ->capture_default_str();
  verb->add_option("--job", arguments->job,
                   "what this run and its later ones are called; default: the scheduler's job");
  verb->add_option("--lake", arguments->lake,
                   "add the store to this lake at the end (see `stepscope lake --help`)");
  verb->add_option(
      "--steps", arguments->steps,
      "record ops only in these steps, for example 500-520; phases are always recorded");
  verb->add_option("--schedule", arguments->schedule,
                   "record ops in cycles of steps: wait=100,warmup=5,active=10,repeat=3");
  verb->add_option("--duration", arguments->duration_s,
                   "record ops for this many seconds after the first step")
      ->check(is_duration);
  verb->add_option("--tier", arguments->tier,
                   "ops: record every op; phases: record only input, backward and optimizer")
      ->check(CLI::IsMember({"ops", "phases"}))
      ->capture_default_str();
  verb->add_option("--ops", arguments->ops,
                   "auto: record ops in as many steps as the budget allows; all: in every step; "
                   "never: as --tier phases")
      ->check(CLI::IsMember({"auto", "all", "never"}))
      ->capture_default_str();
  verb->add_flag("--no-lines", arguments->no_lines,
                 "do not look at which lines of code the program is in");
  verb->add_option("--lines-rate", arguments->lines_rate,
                   "how often a second to look at the line of Python a loop is in, 1 to 1000")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_flag(
      "--modules", arguments->modules,
      "record the calls of a Python model's modules in steps with ops (costs 2 to 5 us a "
      "call)");
  verb->add_option("--budget", arguments->budget,
                   "how much of the run's time recording ops may cost, for example 0.5%; it does "
                   "not limit --steps, --schedule and --duration")
      ->capture_default_str();
  verb->add_flag("--shapes", arguments->shapes,
                 "record the input shapes of each op (costs about 1 us per op)");
  verb->add_option("--ring-mib", arguments->ring_mib, "size of each thread's buffer, in MiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_metrics_options(*verb, arguments->metrics);
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
  verb->callback([arguments, &exit_code] {
    // A store that may not grow further is an error of write(), not our end. By a handler, which
    // exec() takes away: the program would inherit a signal that is ignored.
    if (std::signal(SIGXFSZ, [](int) {}) == SIG_IGN) std::signal(SIGXFSZ, SIG_IGN);
    exit_code = run_program(*arguments);
  });
}

}  // namespace stepscope::cli
