// Looks from time to time at what the Python threads of the recorded processes are doing, in a
// thread of its own: which lines they are in, and what they are blocked in. The programs are not
// stopped, get no signal, and nothing is written to them (profiler/stacks).
//
// A loop's thread is looked at `rate` times a second, and so is, while a loop waits for a batch,
// who makes it; other threads StackLooks::kSlowRate times. It takes at most kMostOfCore of a core,
// and kFirstAllowance at the start: where that is not enough, it looks less often.
//
// Thread safety: one thread's, but for its own.
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
  static constexpr double kMostOfCore = 0.01;
  static constexpr std::chrono::milliseconds kFirstAllowance{100};  // short runs are told of too
  static constexpr std::size_t kMostProcesses = 128;

  // `rate` 0: nothing is ever sampled.
  explicit StackSampler(int rate);
  ~StackSampler();
  StackSampler(const StackSampler&) = delete;
  StackSampler& operator=(const StackSampler&) = delete;

  // From now on, until it ends. `region`: what it says of its waits, until forget(); may be null.
  // The first call starts the thread; where none can be started, there are no samples.
  void add(pid_t pid, OwnedFd memory, OwnedFd maps, const RegionHeader* region);
  // Another process of the program, whose memory this one may open. Nothing where it may not.
  void add_unrecorded(pid_t pid);
  [[nodiscard]] bool knows(pid_t pid) const;
  // Its region is about to be unmapped.
  void forget(pid_t pid);
  // What has been found since the last call.
  StackBatch take();
  [[nodiscard]] SamplerFacts facts() const;

 private:
  struct Shared;

  const int rate_;
  std::vector<pid_t> known_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  std::thread thread_;
};

}  // namespace stepscope
