#include "wrap/wrapped_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/recording.h"
#include "present/run_text.h"
#include "profiler/doctor/installation.h"
#include "profiler/identity/program_name.h"
#include "profiler/launch/child.h"
#include "profiler/launch/preload_folder.h"
#include "profiler/launch/program_file.h"
#include "profiler/recorder/run_meta.h"
#include "profiler/recorder/run_recorder.h"
#include "store/contained.h"
#include "sweep/command_words.h"
#include "terminal/terminal_out.h"
#include "wrap/add_to_lake.h"
#include "wrap/lake_follower.h"
#include "wrap/output_path.h"
#include "wrap/record_window.h"
#include "wrap/run_summary.h"
#include "wrap/status_below.h"
#include "wrap/terminal_wait.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The exit codes of a shell for these errors.
constexpr int kCannotExecute = 126;
constexpr int kNoSuchProgram = 127;

constexpr const char* kStopped = "recording stopped before the program ended";

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
  if (*steps && (*steps)->first < 1) {
    return Status::error(ErrorKind::kUsage,
                         "--steps " + arguments.steps + ": the steps of a run are counted from 1");
  }
  if (*steps) {
    plan.record.first_step = (*steps)->first;
    plan.record.last_step = (*steps)->last;
  }
  if (Status status = read_schedule(arguments.schedule, plan.record); !status.ok()) return status;
  const auto budget = read_budget(arguments.budget);
  if (!budget.ok()) return budget.status();
  const bool windowed = *steps || plan.record.active > 0 || arguments.duration_s > 0;
  if (arguments.ops == "auto" && !windowed && plan.record.phases_only == 0)
    plan.record.budget_ppm = budget_ppm(*budget);
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

// --duration: ops are recorded for this long from the first step on.
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

void say(const std::string& line) noexcept {
  static_cast<void>(contained([&] {
    print_line(stderr, "stepscope: " + line);
    return Status();
  }));
}

void say_if_failed(const char* what, const Status& status) noexcept {
  if (status.ok()) return;
  static_cast<void>(contained([&] {
    say(std::string(what) + ": " + status.message());
    return Status();
  }));
}

// Null without --lake.
std::unique_ptr<LakeFollower> make_follower(const RunArguments& arguments) {
  if (arguments.lake.empty()) return nullptr;
  LakePlan plan;
  plan.lake = arguments.lake;
  plan.watch_s = arguments.watch_lake_s;
  // Slow for that long means: in two or more pieces.
  if (plan.watch_s > 0) {
    const auto half = std::chrono::milliseconds(static_cast<std::int64_t>(plan.watch_s * 500));
    plan.period = std::min(plan.period, half);
  }
  return std::make_unique<LakeFollower>(plan);
}

std::unique_ptr<LakeFollower> start_follower(const RunArguments& arguments) noexcept {
  std::unique_ptr<LakeFollower> follower;
  say_if_failed("no live lake", contained([&] {
                  follower = make_follower(arguments);
                  return follower ? follower->start() : Status();
                }));
  return follower;
}

void follow_in_lake(const RunArguments& arguments, RunRecorder& recorder, LakeFollower& follower) {
  if (recorder.has_store()) follower.follow(arguments.output);
  for (const std::int64_t rank : follower.take_slow_ranks()) recorder.record_ops_block(rank);
  const std::string problem = follower.take_problem();
  if (!problem.empty()) say("not added to the lake yet: " + problem + "; trying again");
}

// Allocates nothing outside contained(): an exception would end the wrapper with an exit code of
// its own, while the program runs on. `command`: the program's.
int watch(const RunArguments& arguments, const std::string& command, const Child& child,
          RunRecorder& recorder, MetricsOfRun& metrics, LakeFollower* follower,
          bool& told_failure) {
  StatusBelow line(2s, 500ms);
  DurationLimit duration(arguments.duration_s);
  recorder.program_started(child.pid());
  std::optional<ChildEnd> ended;
  while (!(ended = child.ended())) {
    recorder.wait({child.fd(), line.fd()});
    line.make_way();
    child.pass_signals_on();
    recorder.tick();
    if (!std::exchange(told_failure, !recorder.failure().ok()))
      say_if_failed(kStopped, recorder.failure());
    duration.apply(recorder);
    static_cast<void>(contained([&] {
      if (recorder.has_store()) metrics.follow(arguments.output);
      if (follower != nullptr) follow_in_lake(arguments, recorder, *follower);
      line.make_way();  // for what the program wrote while all this took its time
      if (arguments.quiet || !line.is_due() || waits_for_terminal(child.pid())) return Status();
      if (const RunProgress now = recorder.progress(); now.processes > 0) {
        line.update([&now] { return live_text(now); });
      }
      return Status();
    }));
  }
  while (child.take_signal() != 0) {
  }  // they came for the program
  recorder.program_ended(child.pid(), ended->wait_status, command);
  return ended->wait_status;
}

Environment environment_of(const RunArguments& arguments, const ProgramFile& program,
                           const std::string& socket, const Installation& named,
                           MetricsOfRun& metrics) {
  Environment environment = environment_for(program, socket, named.libstepscope().string(),
                                            named.python_hooks().string());
  if (!program.foreign.empty()) return environment;
  if (environment.empty()) {
    say("LD_PRELOAD has no room for Stepscope's library: the program runs, but cannot be recorded");
    return environment;
  }
  if (arguments.modules) environment.emplace_back("STEPSCOPE_MODULES", "1");
  metrics.add_to(environment);
  return environment;
}

WrappedEnd refuse_program(const Status& status) {
  return {status.kind() == ErrorKind::kNotFound ? kNoSuchProgram : kCannotExecute, status};
}

void find_moved_store(RunArguments& arguments, const RunRecorder& recorder) {
  const std::string place = recorder.store_path().string();
  if (place == arguments.output) return;
  say(arguments.output + " was moved to " + place + " while it was being recorded");
  arguments.output = place;
}

// Returns whether the recording is to be summarised.
bool tell_the_end(const RunArguments& arguments, RunRecorder& recorder, const Status& finished,
                  bool told_failure) {
  const std::vector<std::string> notices = recorder.take_notices();
  for (const std::string& notice : notices) say(notice);
  if (!finished.ok()) {
    if (!told_failure) say_if_failed(kStopped, finished);
    return false;
  }
  // The user must know that the store is still that of another run.
  const std::string still =
      recorder.has_store() ? "" : "; " + arguments.output + " is still the earlier recording";
  if (arguments.quiet && still.empty()) return false;
  const RunProgress progress = recorder.progress();
  const auto window = read_step_window("--steps", arguments.steps);
  const bool has_window = window.ok() && *window && progress.step > 0;
  if (has_window && (*window)->first >= progress.step && progress.ops == 0) {
    say("no ops: --steps " + arguments.steps + " begins after the last step, " +
        std::to_string(progress.step - 1));
  }
  if (progress.processes == 0) {
    const bool refused = !notices.empty();  // a process, and its notice says why
    if (refused && still.empty()) return false;
    const std::string unseen = "no libtorch was seen in " + name_program(arguments.program).name;
    say((refused ? "" : unseen + ": ") + "nothing was recorded" + still);
    return false;
  }
  return !arguments.no_analysis;
}

// What remains to be done with a complete store.
struct Rest {
  std::string store;
  std::string lake;  // empty: none
  bool summarised = false;
  RunProgress progress;

  void operator()() const {
    say_if_failed("no summary", contained([this] {
                    const bool analyzed = summarised && print_summary(store, progress);
                    if (lake.empty()) return Status();
                    const std::string failed = add_to_lake(store, lake, analyzed);
                    if (!failed.empty()) say(failed);
                    return Status();
                  }));
  }
};

// If the recording stopped early, the lake gets what was recorded until then.
Rest tell_and_take_rest(RunArguments& arguments, RunRecorder& recorder, const Status& finished,
                        bool told_failure) {
  find_moved_store(arguments, recorder);
  const bool summarised = tell_the_end(arguments, recorder, finished, told_failure);
  const bool joins_lake = recorder.has_store() && recorder.progress().processes > 0;
  return {arguments.output, joins_lake ? arguments.lake : "", summarised, recorder.progress()};
}

bool ends_programs(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

// Does the rest on another thread, because it may take long: a signal that would have ended the
// program ends us, with the program's exit code. Nothing else may need to be cleaned up by then.
void do_unless_interrupted(const Rest& rest, const Child& child, int exit_code) {
  if (!rest.summarised && rest.lake.empty()) return;
  std::future<void> done = std::async(std::launch::async, std::cref(rest));
  while (done.wait_for(50ms) != std::future_status::ready) {
    if (!ends_programs(child.take_signal())) continue;
    say("interrupted; the recording is complete: stepscope analyze " + rest.store);
    std::fflush(nullptr);
    std::_Exit(exit_code);
  }
}

}  // namespace

Result<WrappedEnd> run_wrapped(RunArguments arguments) {
  const auto program = inspect_program(arguments.program[0]);
  if (!program.ok()) return refuse_program(program.status());
  if (arguments.output.empty()) {
    return Status::error(ErrorKind::kUsage, "-o: name a file");
  }
  const auto output = output_of(arguments.output, arguments.job, arguments.program);
  if (!output.ok()) return output.status();
  arguments.output = *output;
  const auto plan = plan_of(arguments);
  if (!plan.ok()) return plan.status();
  const auto installed = ready_installation();
  if (!installed.ok()) return installed.status();
  const std::string unrecordable = program->is_static ? "statically linked" : program->foreign;
  if (!unrecordable.empty()) {
    say(arguments.program[0] + ": " + unrecordable + "; it runs, but cannot be recorded");
  }
  auto linked = PreloadFolder::open(installed->libraries);
  if (!linked.ok()) return linked.status();
  std::optional<PreloadFolder> folder(*std::move(linked));
  auto metrics = MetricsOfRun::open(arguments.metrics, arguments.job, arguments.program);
  if (!metrics.ok()) return metrics.status();
  auto recorder = RunRecorder::start(arguments.output, meta_of(arguments), *plan);
  if (!recorder.ok()) return recorder.status();
  const Installation named{folder->path(), installed->sources};
  const Environment environment =
      environment_of(arguments, *program, (*recorder)->socket_path(), named, *metrics);
  const std::string command = command_line(arguments.program);
  const auto child = Child::start(arguments.program, environment);
  if (!child.ok()) {
    (*recorder)->discard();
    return refuse_program(child.status());
  }
  // From here on the program's exit code is ours, whatever happens to the recording.
  for (const std::string& line : metrics->start(arguments.quiet)) say(line);
  const auto follower = start_follower(arguments);
  bool told_failure = false;
  const int wait_status =
      watch(arguments, command, *child, **recorder, *metrics, follower.get(), told_failure);
  if (!arguments.quiet) start_row();
  metrics->stop_reading();
  if (follower) follower->stop();
  const Status finished = (*recorder)->finish();
  for (const std::string& line : metrics->finish()) say(line);
  std::optional<Rest> rest;
  say_if_failed("no summary", contained([&] {
                  rest = tell_and_take_rest(arguments, **recorder, finished, told_failure);
                  return Status();
                }));
  recorder->reset();  // removes its folder, and `folder` the preloaded one
  folder.reset();
  const int exit_code = exit_code_of(wait_status);
  say_if_failed("no summary", contained([&] {
                  if (rest) do_unless_interrupted(*rest, *child, exit_code);
                  return Status();
                }));
  return WrappedEnd{exit_code, {}};
}

}  // namespace stepscope
