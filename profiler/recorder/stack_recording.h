// Stores call stacks: those that the sampler found in Python programs, and those that C++ programs
// took themselves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/recorder/native_stacks.h"
#include "profiler/recorder/stack_sampler.h"
#include "profiler/recorder/thread_watch.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/region_format.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// Meta keys of the sampling, set by finish(). The rate is per second; the rest is as in
// SamplerFacts.
inline constexpr const char* kStackRateMeta = "lines_rate";
inline constexpr const char* kStacksTornMeta = "lines_torn";
inline constexpr const char* kStackCpuMeta = "lines_cpu_ns";
inline constexpr const char* kStackLateP50Meta = "lines_late_p50_ns";
inline constexpr const char* kStackLateP99Meta = "lines_late_p99_ns";
inline constexpr const char* kNativeStacksMeta = "lines_native";     // samples of C++ programs
inline constexpr const char* kStackNoteMeta = "lines_note";          // why a process has none
inline constexpr const char* kNativeNoteMeta = "lines_native_note";  // why no library is named
// The CPU time that a row of native_sample stands for; set with the first such row.
inline constexpr const char* kNativePeriodMeta = "native_period_ns";

// Thread safety: none; used by one recorder.
class StackRecording {
 public:
  // `rate` is that of StackSampler.
  explicit StackRecording(int rate) : rate_(rate), sampler_(rate) {}

  void add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region);
  void forget(pid_t pid);
  // Call when the process has ended: the next store() writes all of its stacks.
  void has_ended(pid_t pid) { native_.name_held(pid); }
  // Adds native stacks that a thread took. Only for processes that were added.
  void take(pid_t pid, pid_t tid, const std::vector<NativeStack>& stacks);
  // Adds a process that is not sampled but may take native stacks.
  void add_native(pid_t pid, OwnedFd maps) { native_.add(pid, std::move(maps)); }
  // Writes what was found since the last call. From now on also samples the processes that the
  // program started and that `threads` has found.
  Status store(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock);
  // The same for the last time; also stores how the sampling went.
  Status finish(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock);

 private:
  // Writes frames, whose numbers continue those in `rows`, and appends their rows.
  Status write_frames(TraceWriter& writer, const std::vector<StackBatch::Frame>& found,
                      std::vector<FrameId>& rows);
  Status write(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock);
  Status write_libraries(TraceWriter& writer, ThreadWatch& threads, const ClockMap& clock,
                         const std::vector<StackBatch::Library>& found);
  Status write_native(TraceWriter& writer, ThreadWatch& threads);
  Status store_sampling(TraceWriter& writer);
  Status store_note(TraceWriter& writer);

  const int rate_;
  StackSampler sampler_;
  NativeStacks native_;
  std::int64_t frames_written_ = 0;
  bool period_written_ = false;
  std::vector<FrameId> sampled_rows_;  // rows of the frames of each kind, by frame number
  std::vector<FrameId> native_rows_;
};

}  // namespace stepscope
