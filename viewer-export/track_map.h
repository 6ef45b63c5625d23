// Assigns a pid and tid to each track of the trace.
//
// Viewers sort the tracks of a process by tid and put the one whose tid equals the pid first. To
// place our own rows (verdict, steps, phases) above the program's threads, processes are numbered
// from 1 and rows from the next number. Threads keep the system's tid, as in other tools, unless it
// would collide, and the process name includes the system's pid. 0 is never used: viewers treat tid
// 0 as the process itself.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/events.h"
#include "store/trace_reader.h"

namespace stepscope {

struct Track {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string name;
  std::string json;  // ,"pid":1,"tid":2,
};

struct TrackedProcess {
  std::int64_t pid = 0;
  std::string name;
};

class TrackMap {
 public:
  TrackMap(const std::vector<StoredProcess>& processes, const std::vector<StoredThread>& threads);

  // The group of the machine's counters. Call it before add_row().
  void add_machine();
  // Adds a separate group, such as a device, below the processes and returns its pid. Call it
  // before add_row().
  std::int64_t add_group(std::string title);
  // A row of our own in the process of `thread` (kNone: the first process), below the rows before
  // it and above the threads. Add all rows before you call number_threads().
  Track add_row(ThreadId thread, std::string title);
  void number_threads();
  // A further track for slices that do not nest on the thread's own track; the thread must be
  // known. `what` is appended to its name.
  Track add_lane(ThreadId thread, std::string_view what = "overlapping");
  // A track of a group.
  Track add_track(std::int64_t group, std::string title);

  // The pid of a process. For kNone, the machine's, if it was added. For any other unknown id, the
  // first process's.
  [[nodiscard]] std::int64_t pid_of(ProcessId id) const;
  // nullptr for a thread that the store does not know. The pointer stays valid.
  [[nodiscard]] const Track* thread(ThreadId id) const;
  [[nodiscard]] const std::vector<TrackedProcess>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<Track>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<Track>& lanes() const { return lanes_; }
  // Of the threads that the store knows.
  [[nodiscard]] const std::map<ThreadId, Track>& threads() const { return threads_; }

 private:
  [[nodiscard]] std::set<ProcessId> processes_to_renumber() const;

  const std::vector<StoredProcess> stored_processes_;
  const std::vector<StoredThread> stored_threads_;
  std::map<ProcessId, std::int64_t> pids_;    // of the stored processes
  std::map<ThreadId, ProcessId> process_of_;  // of the stored threads
  std::vector<TrackedProcess> processes_;
  std::vector<Track> rows_;
  std::map<ThreadId, Track> threads_;
  std::vector<Track> lanes_;
  std::int64_t machine_pid_ = 0;  // 0: there is none
  std::int64_t next_row_ = 0;
  std::int64_t next_spare_ = 0;
};

}  // namespace stepscope
