// Turns the native stacks of the recorded C++ programs into samples of the moments they stand for.
//
// Reading the symbols of libtorch occupies a core for some tenths of a second. This slows a program
// that records itself, because page faults of one process wait for each other. So stacks are kept
// as addresses at first; those of a short program are named after its end.
//
// Thread safety: none; used by one recorder.
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

// Like a StackBatch, but with session times: one sample for each period that a stretch lasts.
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
  static constexpr std::size_t kMaxHeld = 20'000;         // stacks without names

  // From now on, the stacks of `pid` can be named. `maps`: its /proc/PID/maps.
  void add(pid_t pid, OwnedFd maps);
  void forget(pid_t pid) { programs_.erase(pid); }
  // Names the stacks kept so far: those of `pid`, because it has ended, or those of all processes.
  void name_held(pid_t pid);
  void name_all_held();
  // Adds stacks of a thread; ignores them if its process was not added.
  void take(pid_t pid, pid_t tid, const std::vector<NativeStack>& stacks);
  // The samples since the last call. Frames are numbered from 1 over all batches, in their order.
  NativeBatch found();
  // Samples so far.
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  // Whether stacks came that could not be named, because symbols cannot be read on this system.
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
