#include "sweep/sweeper.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <system_error>

#include "analyzer/words.h"
#include "profiler/launch/program_file.h"
#include "store/read_sweep.h"
#include "store/sweep_store.h"
#include "store/trace_reader.h"
#include "sweep/cell_process.h"
#include "sweep/failure.h"
#include "sweep/measure_run.h"
#include "sweep/setting.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// Blocks the signals that end a sweep until take() asks for them: a run is stored completely or not
// at all.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~StopSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // A signal that has arrived meanwhile; 0: none.
  [[nodiscard]] int take() const {
    const timespec now{0, 0};
    return std::max(sigtimedwait(&set_, nullptr, &now), 0);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string((whole + 30) / 60) + " min";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::int64_t ns_of(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
}

// The part of a run's figures that comes from its process alone.
SweepRun run_of(const CellEnd& ended, std::size_t cell, std::int64_t round) {
  SweepRun run;
  run.cell = cell;
  run.round = round;
  run.started_unix_ns = ended.started_unix_ns;
  run.wall_ns = ended.wall_ns;
  const int status = ended.end.wait_status;
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  run.error_tail = ended.error_tail;
  run.peak_address_bytes = ended.peak_address_bytes;
  run.available_bytes = ended.available_bytes;
  const rusage& usage = ended.end.usage;
  run.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  run.minor_faults = usage.ru_minflt;
  run.major_faults = usage.ru_majflt;
  run.cpu_user_ns = ns_of(usage.ru_utime);
  run.cpu_system_ns = ns_of(usage.ru_stime);
  return run;
}

// Called before anything is created: a program that cannot be started is not a setting that failed.
Status check_programs(const SweepJob& job) {
  std::set<std::string> programs;
  for (const auto& words : job.words) programs.insert(words[0]);
  for (const std::string& program : programs) {
    if (const auto file = inspect_program(program); !file.ok()) return file.status();
  }
  return {};
}

class Sweeper {
 public:
  Sweeper(const SweepArguments& arguments, const SweepJob& job, const SweepSetup& setup)
      : arguments_(arguments), job_(job), setup_(setup) {}

  Status open();
  Result<SweepEnd> run();

 private:
  Status open_store();
  Status make_runs_folder();
  Status check_first_round() const;
  Result<SweepRun> measure(std::size_t cell, std::int64_t round, int& stopped_by);
  void show(std::size_t cell, double elapsed_s);
  [[nodiscard]] double usual_seconds(std::size_t cell) const;
  [[nodiscard]] std::vector<std::pair<std::size_t, std::int64_t>> remaining() const;
  [[nodiscard]] std::string title(std::size_t cell) const {
    return setting_title(job_.plan, job_.plan.cells[cell]);
  }
  [[nodiscard]] fs::path store_of(std::size_t cell, std::int64_t round) const;
  void remember(const SweepRun& run);

  const SweepArguments& arguments_;
  const SweepJob& job_;
  const SweepSetup& setup_;
  std::unique_ptr<SweepWriter> writer_;
  std::map<std::pair<std::size_t, std::int64_t>, bool> done_;  // cell and round
  std::map<std::size_t, std::pair<SweepOutcome, std::string>>
      failed_;                             // the first cause of each cell
  std::map<std::size_t, double> seconds_;  // how long a cell took the last time
};

Status Sweeper::open() {
  if (Status status = open_store(); !status.ok()) return status;
  return arguments_.keep_runs ? make_runs_folder() : Status();
}

Status Sweeper::open_store() {
  const fs::path path = arguments_.output;
  std::error_code code;
  if (arguments_.restart || !fs::exists(fs::symlink_status(path, code))) {
    auto made = SweepWriter::create(path, job_.plan);
    if (!made.ok()) return made.status();
    writer_ = *std::move(made);
    return {};
  }
  auto opened = SweepWriter::open(path);
  if (!opened.ok()) return opened.status();
  writer_ = *std::move(opened);
  auto data = read_sweep(path);
  if (!data.ok()) return data.status();
  if (Status status = check_same_sweep(path.string(), data->plan, job_.plan); !status.ok())
    return status;
  const auto ok = [](const SweepRun& run) { return run.outcome == SweepOutcome::kOk; };
  // If no run ever worked, the user has presumably fixed the command meanwhile.
  if (arguments_.retry || std::none_of(data->runs.begin(), data->runs.end(), ok)) {
    if (const auto forgotten = writer_->forget_failed_runs(); !forgotten.ok())
      return forgotten.status();
    std::erase_if(data->runs, [&](const SweepRun& run) { return !ok(run); });
  }
  for (const SweepRun& run : data->runs) remember(run);
  return writer_->set_meta("rounds", std::to_string(arguments_.repeats));
}

Status Sweeper::make_runs_folder() {
  std::error_code code;
  fs::create_directories(arguments_.output + ".runs", code);
  if (!code) return {};
  return Status::error(ErrorKind::kIo, arguments_.output + ".runs: " + code.message());
}

fs::path Sweeper::store_of(std::size_t cell, std::int64_t round) const {
  if (!arguments_.keep_runs) return setup_.folder / "run.db";
  return fs::path(arguments_.output + ".runs") /
         ("cell" + std::to_string(cell + 1) + "-" + std::to_string(round) + ".db");
}

void Sweeper::remember(const SweepRun& run) {
  done_[{run.cell, run.round}] = true;
  seconds_[run.cell] = static_cast<double>(run.wall_ns) / 1e9;
  if (run.outcome != SweepOutcome::kOk)
    failed_.emplace(run.cell, std::pair(run.outcome, run.cause));
}

// A setting that has failed once is not available, so it is not tried again.
std::vector<std::pair<std::size_t, std::int64_t>> Sweeper::remaining() const {
  std::vector<std::pair<std::size_t, std::int64_t>> runs;
  for (std::int64_t round = 1; round <= arguments_.repeats; ++round) {
    for (const std::size_t cell : order_of_round(job_.plan.cells.size(), arguments_.seed, round)) {
      if (done_.count({cell, round}) == 0 && failed_.count(cell) == 0)
        runs.emplace_back(cell, round);
    }
  }
  return runs;
}

double Sweeper::usual_seconds(std::size_t cell) const {
  if (const auto known = seconds_.find(cell); known != seconds_.end()) return known->second;
  double sum = 0;
  for (const auto& [other, seconds] : seconds_) sum += seconds;
  return seconds_.empty() ? 0 : sum / static_cast<double>(seconds_.size());
}

void Sweeper::show(std::size_t cell, double elapsed_s) {
  if (!setup_.progress) return;
  setup_.progress([&] {
    const auto left = remaining();
    double seconds = -elapsed_s;
    for (const auto& [other, round] : left) seconds += usual_seconds(other);
    const std::size_t all = done_.size() + left.size();
    return "sweep: run " + std::to_string(done_.size() + 1) + " of " + std::to_string(all) + " · " +
           title(cell) + (seconds > 0.5 ? " · " + clock_text(seconds) + " left" : "");
  });
}

Result<SweepRun> Sweeper::measure(std::size_t cell, std::int64_t round, int& stopped_by) {
  const auto begin = std::chrono::steady_clock::now();
  const fs::path store = store_of(cell, round);
  CellRequest request{job_.words[cell],
                      store,
                      arguments_.tier == "phases",
                      arguments_.timeout_s,
                      job_.memory_limit,
                      [&] {
                        const std::chrono::duration<double> elapsed =
                            std::chrono::steady_clock::now() - begin;
                        show(cell, elapsed.count());
                      }};
  const auto ended = run_cell(request, setup_.installed);
  if (!ended.ok()) return ended.status();
  stopped_by = ended->stopped_by;
  SweepRun run = run_of(*ended, cell, round);
  const auto reader = TraceReader::open(store);
  if (!reader.ok()) return reader.status();
  const auto for_memory = killed_for_memory(**reader);
  if (!for_memory.ok()) return for_memory.status();
  Failure failure =
      failure_of({run.exit_code, run.signal, ended->timed_out, arguments_.timeout_s, *for_memory,
                  run.peak_rss_bytes, run.available_bytes.value_or(0), run.error_tail});
  run.outcome = failure.outcome;
  run.cause = failure.cause;
  const MeasureOptions options{job_.warm_up, job_.samples[cell], job_.per_run, setup_.why_no_steps};
  if (Status measured = measure_sweep_run(**reader, options, run); !measured.ok()) return measured;
  if (run.outcome == SweepOutcome::kNoSteps && !ended->notices.empty())
    run.cause = ended->notices.front();
  return run;
}

// Once every setting has failed, the remaining runs would fail too.
Status Sweeper::check_first_round() const {
  if (failed_.size() < job_.plan.cells.size()) return {};
  const std::size_t first = order_of_round(job_.plan.cells.size(), arguments_.seed, 1).front();
  return Status::error(ErrorKind::kBadInput, "every setting failed in the first round; " +
                                                 title(first) + ": " + failed_.at(first).second);
}

Result<SweepEnd> Sweeper::run() {
  const StopSignals signals;
  SweepEnd end;
  for (const auto& [cell, round] : remaining()) {
    end.stopped_by = signals.take();
    if (end.stopped_by != 0) break;
    if (failed_.count(cell) > 0) continue;
    show(cell, 0);
    auto run = measure(cell, round, end.stopped_by);
    if (end.stopped_by != 0) break;  // it did not end by itself: it says nothing about the setting
    if (!run.ok()) return run.status();
    if (Status status = writer_->add_run(*run); !status.ok()) return status;
    remember(*run);
    ++end.measured;
    if (Status status = check_first_round(); !status.ok()) return status;
  }
  end.remaining = static_cast<std::int64_t>(remaining().size());
  return end;
}

}  // namespace

std::vector<std::size_t> order_of_round(std::size_t cells, std::uint64_t seed, std::int64_t round) {
  std::vector<std::size_t> order(cells);
  for (std::size_t i = 0; i < cells; ++i) order[i] = i;
  // Not std::shuffle, whose result depends on the standard library.
  std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(round));
  for (std::size_t i = cells; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

Result<SweepEnd> run_sweep(const SweepArguments& arguments, const SweepJob& job,
                           const SweepSetup& setup) {
  if (Status status = check_programs(job); !status.ok()) return status;
  Sweeper sweeper(arguments, job, setup);
  if (Status status = sweeper.open(); !status.ok()) return status;
  return sweeper.run();
}

}  // namespace stepscope
