// The rings of this process: a thread gets one with its first event, the recorder drains them all.
//
// Thread safety: all members. A lock is taken when a thread comes or goes and once a drain, never
// for an event.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/ring/thread_recorder.h"

namespace stepscope {

// A thread's ring and what writes it. Lives in memory of its own, until the thread has ended and
// the recorder is done with it.
struct ThreadRing {
  RingHeader* header = nullptr;
  std::size_t bytes = 0;
  std::unique_ptr<ThreadRecorder> recorder;

  ThreadRing() = default;
  ~ThreadRing();
  ThreadRing(const ThreadRing&) = delete;
  ThreadRing& operator=(const ThreadRing&) = delete;
};

class RingRegistry {
 public:
  // Rings made from now on have room for as many slots as fit in `ring_bytes`.
  void set_ring_bytes(std::size_t ring_bytes);

  // A ring for the calling thread; nullptr when there is no memory or kMaxRings threads have one
  // (counted in refused_threads()).
  ThreadRecorder* add_current_thread();
  // The calling thread ends; its ring stays until it was drained.
  void close(ThreadRecorder* recorder);

  // The op `identity`, which the thread with `torch_id` began, ended on another thread.
  STEPSCOPE_INTERNAL void end_elsewhere(std::uint64_t torch_id, const void* identity);

  // All rings there are. They stay valid until release_closed() is called.
  [[nodiscard]] std::vector<ThreadRing*> rings() const;
  // Frees `ring`, whose thread has ended.
  void release_closed(ThreadRing* ring);

  [[nodiscard]] std::int64_t refused_threads() const;

  // 1,024 rings of the default size are 2 GiB of address space, of which only what was used is
  // resident after the first lap. Around fork(): held meanwhile, so that the child finds it whole.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  static constexpr std::size_t kMaxRings = 1024;
  static constexpr std::size_t kDefaultRingBytes = std::size_t{2} << 20;

 private:
  mutable std::mutex mutex_;
  std::size_t ring_bytes_ = kDefaultRingBytes;
  std::vector<std::unique_ptr<ThreadRing>> rings_;
  std::int64_t refused_threads_ = 0;
};

}  // namespace stepscope
