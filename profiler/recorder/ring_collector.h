// Empties the rings of the recorded processes in time, from a thread of its own: a commit, a
// checkpoint or a burst of decoding keeps the recorder from them for longer than a ring lasts. The
// thread does nothing but copy, so the scheduler gives it a core soon also on a full machine.
//
// Thread safety: none; one recorder's. Invariants: it holds at most kMostCollectedBytes; beyond
// that events stay in their rings, whose policy holds (LossKind). No exception leaves its thread.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "profiler/recorder/ring_backlog.h"

namespace stepscope {

class RingCollector {
 public:
  RingCollector() = default;
  ~RingCollector();
  RingCollector(const RingCollector&) = delete;
  RingCollector& operator=(const RingCollector&) = delete;

  // Collects the rings of `backlog` until it is closed. The first call starts the thread. Where
  // none can be started, the recorder empties the rings by itself.
  void add(std::shared_ptr<RingBacklog> backlog);

 private:
  void run() noexcept;
  // Visits all rings. Returns how full the fullest one was, from 0 to 1. Requires mutex_.
  double visit() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::shared_ptr<RingBacklog>> backlogs_;  // guarded by mutex_
  bool stopping_ = false;                             // guarded by mutex_
  std::thread thread_;                                // add()'s and the destructor's
};

}  // namespace stepscope
