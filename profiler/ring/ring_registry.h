// The rings of this process, as its threads see them: a thread gets a ring with its first event and
// returns it when the thread ends. The code that drains them (recorder/process_drain.h) uses only
// the region, from this process or another.
//
// Thread safety: all members. A lock is taken when a thread starts or ends, never for an event.
#pragma once

#include <cstdint>
#include <mutex>

#include "profiler/ring/region.h"
#include "profiler/ring/thread_recorder.h"

namespace stepscope {

// An intrusive list of recorders: adding one allocates nothing, so it cannot fail in the middle of
// a program's step. Thread safety: none.
class RecorderList {
 public:
  void add(ThreadRecorder* recorder);
  // Removes `recorder`; false: it was not in the list.
  bool remove(ThreadRecorder* recorder);
  // Takes over all of `other`.
  void add_all(RecorderList& other);

  template <typename Function>
  void for_each(Function function) const {
    for (ThreadRecorder* one = first_; one != nullptr; one = one->next_in_list()) function(*one);
  }

 private:
  ThreadRecorder* first_ = nullptr;
};

class RingRegistry {
 public:
  // From now on, new rings lie in `region`. It is never unmapped while this process lives, because
  // a thread may be in the middle of an event. Threads that have a ring elsewhere move with their
  // first event of a new session.
  void use(const Region& region);
  [[nodiscard]] Region region() const;

  // Gives the calling thread a ring; nullptr if all are taken or memory runs out (counted in the
  // region's refused_threads).
  ThreadRecorder* add_current_thread();
  // Whether `recorder` writes into the region in use.
  [[nodiscard]] bool is_current(ThreadRecorder* recorder) const;
  // Call when the thread of `recorder` ends or moves: its ring becomes free once it is drained.
  // Deletes `recorder`.
  void close(ThreadRecorder* recorder);

  // Call when the op `identity`, begun by the thread with `torch_id`, has ended on another thread.
  STEPSCOPE_INTERNAL void end_elsewhere(std::uint64_t torch_id, const void* identity);

  // Called around fork(), so that the child finds the registry in a consistent state.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  // Called in the child of a fork instead of unlock(): the rings remain the parent's.
  void abandon_in_child();

 private:
  // Both require mutex_.
  RingHeader* claim_ring();
  [[nodiscard]] std::size_t bytes_for_next_ring() const;

  mutable std::mutex mutex_;
  Region region_;
  RecorderList recorders_;
  RecorderList abandoned_;  // in the child of a fork
};

}  // namespace stepscope
