// Samples what the Python threads of the recorded processes are doing, on its own thread: which
// lines they are in, and what they are blocked in. The programs are not stopped, get no signal, and
// nothing is written to them (profiler/stacks).
//
// The thread of a loop is sampled `rate` times a second, and so is, while the loop waits for a
// batch, the thread that makes the batch; other threads are sampled StackLooks::kSlowRate times.
// While there is neither, the sampler sleeps.
// The sampler takes at most kMaxOfCore of a core, plus kFirstAllowance at the start. If that is
// not enough, it samples less often.
//
// Thread safety: one thread may use it; its own thread is internal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/recorder/stack_batch.h"
#include "profiler/ring/region_format.h"

namespace stepscope {

class StackSampler {
 public:
  static constexpr int kDefaultRate = 250;
  static constexpr double kMaxOfCore = 0.01;
  static constexpr std::chrono::milliseconds kFirstAllowance{100};  // for short runs
  static constexpr std::size_t kMaxProcesses = 128;

  // `rate` 0: nothing is ever sampled.
  explicit StackSampler(int rate);
  ~StackSampler();
  StackSampler(const StackSampler&) = delete;
  StackSampler& operator=(const StackSampler&) = delete;

  // Samples `pid` from now on until it ends. `region` says what its loops wait for and must stay
  // mapped until forget(); may be null. The first call starts the thread; if none can be started,
  // there are no samples.
  void add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region);
  // Adds another process of the program, if this process may open its memory.
  void add_unrecorded(pid_t pid);
  [[nodiscard]] bool knows(pid_t pid) const;
  // Call before the region of `pid` is unmapped.
  void forget(pid_t pid);
  // What has been found since the last call.
  StackBatch take();
  [[nodiscard]] SamplerFacts facts() const;

 private:
  struct Shared;

  const int rate_;
  std::vector<pid_t> known_;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

}  // namespace stepscope
