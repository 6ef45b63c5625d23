#include "sweep/cell_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string_view>

#include "profiler/launch/preload_folder.h"
#include "profiler/launch/program_file.h"
#include "profiler/process/proc_text.h"
#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/run_meta.h"
#include "profiler/recorder/run_recorder.h"
#include "sweep/command_words.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The time between asking a program to end and killing it.
constexpr auto kGrace = 2s;
constexpr auto kLookPeriod = 100ms;

// A value that /proc gives in kB, in bytes.
std::optional<std::int64_t> bytes_in_line(const std::string& path, std::string_view key) {
  const auto kib = number_in_line(read_proc_file(path), key);
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

// The memory that a program can get: what the machine has available, up to the limit of our group.
std::optional<std::int64_t> available_memory() {
  auto available = bytes_in_line("/proc/meminfo", "MemAvailable:");
  const auto limit = memory_group_limit(getpid());
  return available && limit ? std::min(available, limit) : available;
}

// Collects a program's standard error in a file without a name.
class ErrorFile {
 public:
  explicit ErrorFile(const fs::path& folder)
      : fd_(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    if (!fd_) fd_ = OwnedFd(open("/dev/null", O_RDWR | O_CLOEXEC));
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

  [[nodiscard]] std::string tail() const {
    struct stat info{};
    if (fstat(fd_.get(), &info) != 0 || info.st_size <= 0) return {};
    std::string text(std::min<std::size_t>(kTailBytes, static_cast<std::size_t>(info.st_size)),
                     '\0');
    const auto from = info.st_size - static_cast<off_t>(text.size());
    const ssize_t length = pread(fd_.get(), text.data(), text.size(), from);
    text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return text;
  }

 private:
  OwnedFd fd_;
};

// Ends a program that takes too long, or when the sweep is stopped.
class Ending {
 public:
  Ending(const Child& child, double timeout_s) : child_(child) {
    if (timeout_s > 0) {
      deadline_ = begin_ + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(timeout_s));
    }
  }
  void look(CellEnd& end) {
    const int signal = child_.take_signal();
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
      end.stopped_by = signal;
      ask();
    }
    if (!asked_ && Clock::now() >= deadline_) {
      end.timed_out = true;
      ask();
    }
    if (asked_ && Clock::now() >= kill_at_) child_.end_group(SIGKILL);
  }
  [[nodiscard]] std::int64_t elapsed_ns() const {
    return std::chrono::nanoseconds(Clock::now() - begin_).count();
  }

 private:
  void ask() {
    if (asked_) return;
    asked_ = true;
    kill_at_ = Clock::now() + kGrace;
    child_.end_group(SIGTERM);
  }

  const Child& child_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point kill_at_ = Clock::time_point::max();
  bool asked_ = false;
};

void watch(const CellRequest& request, const Child& child, RunRecorder& recorder, CellEnd& end) {
  Ending ending(child, request.timeout_s);
  const std::string status = "/proc/" + std::to_string(child.pid()) + "/status";
  Clock::time_point look_at = Clock::now();
  std::optional<ChildEnd> ended;
  while (!(ended = child.ended())) {
    recorder.wait({child.fd()});
    recorder.tick();
    ending.look(end);
    const bool due = Clock::now() >= look_at;
    // The kernel keeps the peak, but only for as long as the process lives.
    if (due || request.memory_limit > 0) {
      if (const auto peak = bytes_in_line(status, "VmPeak:")) end.peak_address_bytes = peak;
    }
    if (!due) continue;
    look_at = Clock::now() + kLookPeriod;
    if (request.tick) request.tick();
  }
  end.end = *ended;
  end.wall_ns = ending.elapsed_ns();
  child.end_group(SIGKILL);  // workers that it left behind
}

RunPlan plan_of(const CellRequest& request) {
  RunPlan plan;
  plan.record.phases_only = request.phases_only ? 1 : 0;
  return plan;
}

}  // namespace

Result<CellEnd> run_cell(const CellRequest& request, const Installation& installed) {
  const auto program = inspect_program(request.words[0]);
  if (!program.ok()) return program.status();
  const std::string command = command_line(request.words);
  Meta meta = program_meta(request.words);
  meta.insert(
      meta.end(),
      {{"stepscope_version", STEPSCOPE_VERSION}, {"command", command}, {"torch_version", ""}});
  const auto folder = PreloadFolder::open(installed.libraries);
  if (!folder.ok()) return folder.status();
  auto recorder = RunRecorder::start(request.store, meta, plan_of(request));
  if (!recorder.ok()) return recorder.status();
  const ErrorFile errors(request.store.parent_path());
  const OwnedFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  CellEnd end;
  end.available_bytes = available_memory();
  end.started_unix_ns =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const Installation named{folder->path(), installed.sources};
  const auto environment =
      environment_for(*program, (*recorder)->socket_path(), named.libstepscope().string(),
                      named.python_hooks().string());
  const auto child = Child::start(request.words, environment,
                                  {true, nowhere.get(), errors.fd(), request.memory_limit});
  if (!child.ok()) return child.status();
  (*recorder)->program_started(child->pid());
  watch(request, *child, **recorder, end);
  (*recorder)->program_ended(child->pid(), end.end.wait_status, command);
  if (Status status = (*recorder)->finish(); !status.ok()) return status;
  end.error_tail = errors.tail();
  end.notices = (*recorder)->take_notices();
  return end;
}

}  // namespace stepscope
