// Where a running thread is in its machine code, without stopping it: the kernel notes the program
// counter every kPeriod that the thread runs (a software event of perf_event_open, user code only).
//
// Thread safety: none; one reader's.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/channel/owned_fd.h"

namespace stepscope {

class ProgramCounter {
 public:
  // Of the thread's CPU time. Each note interrupts the thread: 2 µs on hardware, some 50 µs in a
  // virtual machine, whose timers the hypervisor sets. So the notes cost 0.01 to 0.25 % of it.
  static constexpr std::chrono::nanoseconds kPeriod{20'000'000};

  struct Note {
    std::uint64_t counter = 0;  // an address in the thread's process
    std::int64_t monotonic_ns = 0;
  };

  ProgramCounter() = default;
  ~ProgramCounter();
  ProgramCounter(ProgramCounter&& other) noexcept;
  ProgramCounter& operator=(ProgramCounter&&) = delete;

  // Of the thread `tid` of any process whose memory may be read. 0, or the error of the system:
  // EACCES and EPERM where perf_event_paranoid or a container forbids it.
  int open(pid_t tid);
  [[nodiscard]] bool is_open() const { return area_ != nullptr; }

  // Appends what was noted since the last call, none of it while the thread was in the kernel. The
  // kernel keeps the notes of 3 s of CPU time; older ones are lost.
  void take(std::vector<Note>& notes);

 private:
  OwnedFd event_;
  std::byte* area_ = nullptr;  // a page that describes the ring, and the ring
  std::size_t page_ = 0;       // bytes
  std::uint64_t read_ = 0;     // of all bytes that were ever written
};

}  // namespace stepscope
