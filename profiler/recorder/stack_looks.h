// The Python threads of the recorded processes, and what each look at them finds. Used by the
// sampler's own thread (stack_sampler.h).
//
// Thread safety: none, except WaitWords: any thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "profiler/channel/owned_fd.h"
#include "profiler/recorder/frame_tree.h"
#include "profiler/recorder/stack_batch.h"
#include "profiler/ring/region_format.h"
#include "profiler/ring/thread_schedule.h"
#include "profiler/stacks/library_map.h"
#include "profiler/stacks/program_counter.h"
#include "profiler/stacks/python_stacks.h"

namespace stepscope {

// What a region says about the waits in its process. After forget(), it may be unmapped.
class WaitWords {
 public:
  explicit WaitWords(const RegionHeader* region) : region_(region) {}

  struct Words {
    pid_t waiting_tid = 0;
    pid_t awaited_pid = 0;
    bool has_steps = false;
  };
  Words read() {
    const std::scoped_lock lock(mutex_);
    if (region_ == nullptr) return {};
    return {static_cast<pid_t>(region_->waiting_tid.load(std::memory_order_relaxed)),
            static_cast<pid_t>(region_->awaited_pid.load(std::memory_order_relaxed)),
            region_->step.load(std::memory_order_relaxed) > 0};
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    region_ = nullptr;
  }

 private:
  std::mutex mutex_;
  const RegionHeader* region_;  // guarded by mutex_
};

// A process whose memory can be read.
struct Arrived {
  pid_t pid = 0;
  OwnedFd memory, maps;
  std::shared_ptr<WaitWords> words;
};

class StackLooks {
 public:
  using Clock = std::chrono::steady_clock;
  // How often per second to look at a thread that no loop runs on or waits for.
  static constexpr int kSlowRate = 20;
  // The most threads whose program counter is sampled: each takes a descriptor and two pages.
  static constexpr std::ptrdiff_t kMaxCounters = 64;

  void add(Arrived arrived);
  void forget(pid_t pid);
  // Looks at all threads that are due and adds what it finds to `found` and `facts`.
  void round(StackBatch& found, SamplerFacts& facts);
  // Before this moment, a round finds nothing to look at; long ago if there is a loop, which is
  // looked at in each round.
  [[nodiscard]] Clock::time_point next_round() const;
  // The CPUs that the threads of loops run on, or ran on last.
  [[nodiscard]] std::vector<int> cpus_of_loops() const;

 private:
  struct Thread {
    pid_t tid = 0;
    OwnedFd call;  // its `syscall` file in /proc
    ScheduleFile schedule;
    ProgramCounter counter;  // open if `loops` and permitted
    bool loops = false;
    Clock::time_point due;
    std::optional<std::int64_t>
        blocked_since_ran;  // its run time (ns) when it was last found blocked
    std::vector<PythonFrame> last_stack;
    std::uint32_t last_frame = 0;
    std::string last_call;  // the text of `syscall` that last_blocked describes
    std::string last_blocked;
    int idle_looks = 0;  // consecutive looks that found it unchanged
    bool seen = true;
  };

  struct Program {
    explicit Program(Arrived arrived)
        : pid(arrived.pid),
          memory(std::move(arrived.memory)),
          maps(std::move(arrived.maps)),
          words(std::move(arrived.words)) {}

    const pid_t pid;
    const ProcessMemory memory;
    const OwnedFd maps;
    const std::shared_ptr<WaitWords> words;
    std::unique_ptr<PythonStacks> stacks;
    LibraryMap libraries;
    std::vector<std::uint32_t> functions;  // its function numbers to the tree's
    std::list<Thread> threads;
    WaitWords::Words now;
    int searches = 0;  // for the interpreter
    int thread_searches = 0;
    Clock::time_point next_search;
  };

  static std::chrono::nanoseconds slow_period(const Thread& thread);
  void search(Program& program, Clock::time_point now, SamplerFacts& facts);
  // Returns false if there is none yet.
  static bool find_interpreter(Program& program, Clock::time_point now, SamplerFacts& facts);
  [[nodiscard]] bool is_awaited(const Program& program, const Thread& thread) const;
  void look_at(Program& program, Thread& thread, bool awaited, StackBatch& found,
               SamplerFacts& facts);
  // Finds the threads that loops run on.
  void find_loops(Program& program, SamplerFacts& facts);
  void open_counter(Thread& thread, SamplerFacts& facts);
  // Finds the native libraries whose code the thread has run.
  void take_libraries(Program& program, Thread& thread, StackBatch& found);
  // Returns 0 if the thread runs no Python, or changed too fast.
  std::uint32_t frame_of(Program& program, Thread& thread, StackBatch& found, SamplerFacts& facts);

  std::list<Program> programs_;
  std::vector<pid_t> awaited_;  // in this round
  std::vector<PythonFrame> stack_;
  std::vector<ProgramCounter::Note> notes_;
  FrameTree tree_;
};

}  // namespace stepscope
