// Looks from time to time at what the Python threads of the recorded processes are doing, in a
// thread of its own: which lines they are in, and what they are blocked in. The programs are not
// stopped, get no signal, and nothing is written to them (profiler/stacks).
//
// A loop's thread is looked at `rate` times a second, and so is, while a loop waits for a batch,
// who makes it; other threads kSlowRate times. It takes at most kMostOfCore of a core, and
// kFirstAllowance at the start: where that is not enough, it looks less often.
//
// Thread safety: one thread's, but for its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/region_format.h"

namespace stepscope {

// Frames and samples as they were found. Frames count from 1 over all batches, in their order.
struct StackBatch {
  struct Frame {
    std::uint32_t caller = 0;  // 0: the outermost
    std::string function, file;
    int line = 0;  // 0: unknown
  };
  struct Sample {
    pid_t pid = 0;
    pid_t tid = 0;
    Ticks at{};
    std::uint32_t frame = 0;
    bool awaited = false;  // a loop was waiting for what this thread makes
    std::string blocked;   // "": it ran
  };
  std::vector<Frame> frames;
  std::vector<Sample> samples;
};

struct SamplerFacts {
  std::int64_t samples = 0;
  std::int64_t torn = 0;         // stacks that changed while they were read
  std::int64_t late_p50_ns = 0;  // how late it looked
  std::int64_t late_p99_ns = 0;
  std::vector<std::string> notes;  // why some process has no lines; each once
};

class StackSampler {
 public:
  static constexpr int kDefaultRate = 250;
  static constexpr int kSlowRate = 20;
  static constexpr double kMostOfCore = 0.01;
  static constexpr std::chrono::milliseconds kFirstAllowance{100};  // short runs are told of too
  // Beyond these what is found is told by the outer frames that are known.
  static constexpr std::size_t kMostFrames = 200'000;
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
