// Empties the rings of the recorded processes in time, on its own thread: a commit, a checkpoint or
// a burst of decoding can occupy the recorder for longer than it takes to fill a ring. The thread
// only copies, so the scheduler gives it a core soon, even on a busy machine.
//
// Thread safety: none; used by one recorder. Invariants: it holds at most kMaxCollectedBytes;
// beyond that, events stay in the rings, whose full-buffer policy applies (LossKind). No exception
// leaves its thread.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/recorder/other_cpus.h"
#include "profiler/recorder/ring_backlog.h"

namespace stepscope {

class RingCollector {
 public:
  RingCollector() = default;
  ~RingCollector();
  RingCollector(const RingCollector&) = delete;
  RingCollector& operator=(const RingCollector&) = delete;

  // Collects the rings of `backlog` until that is closed. The first call starts the thread. If no
  // thread can be started, the recorder empties the rings itself.
  void add(std::shared_ptr<RingBacklog> backlog);
  // Whether its thread runs.
  [[nodiscard]] bool is_running() const { return thread_.joinable(); }
  // Moves the calling thread, whose CPUs `own` chooses, off those that recorded threads compute on,
  // as long as they write few events. While they write many, it may run anywhere: then it matters
  // more that it gets a CPU soon.
  void keep_off_writers(OtherCpus& own) noexcept;

 private:
  void run() noexcept;
  // Visits all rings. Returns how full the fullest one was, from 0 to 1. Requires mutex_.
  double visit() noexcept;
  // Requires mutex_.
  [[nodiscard]] std::vector<int> cpus_of_writers() const noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::shared_ptr<RingBacklog>> backlogs_;  // guarded by mutex_
  bool stopping_ = false;                             // guarded by mutex_
  std::vector<int> cpus_of_writers_;                  // empty: they write much; guarded by mutex_
  std::thread thread_;                                // not used by itself
};

}  // namespace stepscope
