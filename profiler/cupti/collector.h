// Makes CUPTI write device activity into the region's DeviceArea. One per process.
//
// CUPTI requests and returns buffers on its own threads, and sometimes on one of the program's.
// These callbacks copy nothing and do not wait for the recorder. Without a free buffer, records are
// dropped and counted.
//
// Thread safety: all members. Two locks, taken in this order: mutex_ around our calls of CUPTI,
// names_mutex_ while a buffer is completed. CUPTI may complete buffers inside one of our calls, so
// completion never takes mutex_.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/cupti/cuda_devices.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/device_area.h"
#include "profiler/cupti/name_log.h"
#include "store/mutex.h"
#include "store/status.h"

namespace stepscope {

class Collector {
 public:
  // CUPTI delivers full buffers by itself. The others are asked for this often while it records,
  // which takes some 2 ms, and once this long after a window.
  static constexpr std::int64_t kFlushPeriodNs = 1'000'000'000;

  // The instance of this process. Never destroyed: CUPTI may deliver a buffer after static
  // destructors.
  static Collector& get();

  // Records the device into `region` while `wanted` is true and once CUDA is in use. Call it
  // repeatedly. If recording is impossible, returns one line for the user, once.
  std::optional<std::string> follow(const Region& region, bool wanted);
  // Ends the recording and flushes what CUPTI holds. follow() may begin another.
  void stop();

  // Called around fork(), so that the child finds the collector in a consistent state. The locks
  // are held from one of these functions to the next, which thread-safety analysis cannot follow.
  void lock() STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS;
  void unlock() STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS;
  // Called in the child of a fork instead of unlock(). If CUPTI was in use, it belongs to the
  // parent and is unusable here.
  void abandon_in_child() STEPSCOPE_NO_THREAD_SAFETY_ANALYSIS;

  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

 private:
  enum class State : std::uint8_t { kIdle, kReady, kRecording, kUnusable };

  Collector() = default;

  Status start(const Region& region) STEPSCOPE_REQUIRES(mutex_);
  Status prepare_library() STEPSCOPE_REQUIRES(mutex_);
  Status set_recording(bool on) STEPSCOPE_REQUIRES(mutex_);
  void find_query_calls() STEPSCOPE_REQUIRES(mutex_);
  void leave_out_query_calls() STEPSCOPE_REQUIRES(mutex_);
  void flush_when_due() STEPSCOPE_REQUIRES(mutex_);
  void describe_devices() STEPSCOPE_REQUIRES(mutex_);
  Status check(CuptiResult result, const char* what) const;

  static void buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
  static void buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t bytes, std::size_t valid_bytes);
  void hand_over(DeviceArea& area, std::uint8_t* buffer, std::size_t valid_bytes);
  void count_dropped(DeviceArea& area, void* context, std::uint32_t stream);
  void look_through(DeviceArea& area, const std::uint8_t* buffer, std::size_t valid_bytes);
  void note_call(NameSpace space, std::uint32_t function) STEPSCOPE_REQUIRES(names_mutex_);
  static void stop_at_exit();

  // Guarded by mutex_; constant once area_ is set.
  CuptiLibrary cupti_{};
  RecordSizes sizes_;
  std::uint32_t version_ = 0;
  void* subscriber_ = nullptr;  // if it is ours

  std::atomic<DeviceArea*> area_{nullptr};  // null: no buffers are exchanged

  Mutex mutex_;
  State state_ STEPSCOPE_GUARDED_BY(mutex_) = State::kIdle;
  std::vector<CudaDevice> devices_ STEPSCOPE_GUARDED_BY(mutex_);  // once CUDA is initialised
  bool told_of_devices_ STEPSCOPE_GUARDED_BY(mutex_) = false;     // in this recording
  std::vector<std::uint32_t> runtime_queries_ STEPSCOPE_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> driver_queries_ STEPSCOPE_GUARDED_BY(mutex_);
  std::int64_t flush_at_ns_ STEPSCOPE_GUARDED_BY(mutex_) = 0;  // CLOCK_MONOTONIC; 0: not at all

  Mutex names_mutex_ STEPSCOPE_ACQUIRED_AFTER(mutex_);
  NameLog names_ STEPSCOPE_GUARDED_BY(names_mutex_);
};

}  // namespace stepscope
