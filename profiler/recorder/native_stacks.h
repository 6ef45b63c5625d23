// The native stacks of the recorded C++ programs, as samples of the moments they were taken for.
//
// To read the symbols of libtorch takes a core for some tenths of a second, and a program that
// records itself feels it: page faults of one process wait for one another. So stacks are kept as
// addresses at first, and a short program's are named when it has ended.
//
// Thread safety: none; one recorder's.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/recorder/decoder.h"
#include "profiler/recorder/frame_tree.h"
#include "profiler/recorder/stack_batch.h"
#include "profiler/stacks/native_frames.h"

namespace stepscope {

// Of one frame per period that a stretch lasts: a StackBatch of session times.
struct NativeBatch {
  struct Sample {
    pid_t pid = 0;
    pid_t tid = 0;
    SessionTime at;
    std::uint32_t frame = 0;
  };
  std::vector<StackBatch::Frame> frames;
  std::vector<Sample> samples;
};

class NativeStacks {
 public:
  static constexpr std::chrono::seconds kFirstNames{10};  // after the first stack
  static constexpr std::size_t kMostHeld = 20'000;        // stacks without names

  // From now on the stacks of `pid` can be told. `maps`: of its /proc/PID/maps.
  void add(pid_t pid, OwnedFd maps);
  void forget(pid_t pid) { programs_.erase(pid); }
  // Names the stacks of `pid` that were kept so far, since it has ended; and those of all.
  void name_held(pid_t pid);
  void name_all_held();
  // Stacks of a thread; ignored where its process was not added.
  void take(pid_t pid, pid_t tid, const std::vector<NativeStack>& stacks);
  // What has come since the last call. Frames count from 1 over all batches, in their order.
  NativeBatch found();
  // Samples so far.
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  // Whether stacks came that could not be told, since symbols cannot be read here.
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  struct Program {
    NativeFrames frames;
    // The stacks in which stretches began, by thread and place.
    std::map<std::pair<pid_t, std::uint32_t>, std::vector<std::uint64_t>> begins;
  };

  struct Held {
    pid_t pid = 0, tid = 0;
    NativeStack stack;
  };

  void name(pid_t pid, pid_t tid, const NativeStack& stack);
  // The innermost frame of a stack; 0: it has none.
  std::uint32_t frame_of(Program& program, pid_t tid, const NativeStack& stack);

  std::map<pid_t, std::unique_ptr<Program>> programs_;
  FrameTree tree_;
  NativeBatch found_;
  std::vector<Held> held_;
  bool holds_ = true;
  std::chrono::steady_clock::time_point first_{};  // when the first stack came
  std::int64_t samples_ = 0;
  bool lost_ = false;
};

}  // namespace stepscope
