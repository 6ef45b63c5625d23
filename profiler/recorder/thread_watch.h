// Samples how the threads of the recorded processes, and of the processes that these started, are
// scheduled: loader workers need not be recorded themselves.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "profiler/recorder/cpu_group.h"
#include "profiler/ring/thread_schedule.h"
#include "store/events.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// Limits: the first kMaxOfProcess threads of each process, and kMaxInAll in all. Each takes a
// descriptor. Files that cannot be read are left out; only the store can fail.
//
// Thread safety: none; used by one recorder.
class ThreadWatch {
 public:
  static constexpr std::size_t kMaxOfProcess = 64;
  static constexpr std::size_t kMaxInAll = 256;
  static constexpr std::size_t kMaxProcesses = 64;

  struct Root {
    pid_t pid = 0;
    ProcessId process = ProcessId::kNone;
  };

  explicit ThreadWatch(const SystemFolders& system = {}) : system_(system) {}

  // Reads the threads now, at time `at`. `roots`: the recorded processes that are alive.
  Status store(TraceWriter& writer, std::span<const Root> roots, SessionTime at);
  // The row of a thread of process `pid`; a new one if it has none yet. kNone if the last search
  // did not find the process. Errors: the store's.
  Result<WatchedThreadId> row_of(TraceWriter& writer, pid_t pid, pid_t tid);
  // The processes that the last search found.
  [[nodiscard]] const std::vector<Root>& processes() const { return processes_; }

 private:
  struct Watched {
    pid_t pid = 0;
    ProcessId process = ProcessId::kNone;
    ScheduleFile file;
    WatchedThreadId id = WatchedThreadId::kNone;
    std::int64_t cores = 0;
    ScheduleTimes stored;
    SessionTime stored_at;
    bool seen = true;  // at the last search
  };

  void search(std::span<const Root> roots);
  void add_threads(Root process);
  Status add_reading(TraceWriter& writer, pid_t tid, Watched& thread, const ScheduleTimes& times,
                     SessionTime at);

  const SystemFolders system_;
  std::map<pid_t, Watched> threads_;  // by tid
  std::vector<Root> processes_;
  std::map<std::pair<pid_t, pid_t>, WatchedThreadId> rows_;  // by pid and tid
  std::vector<ThreadReading> readings_;
  std::int64_t samples_ = 0;
};

}  // namespace stepscope
