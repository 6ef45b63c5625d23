// Samples where a running thread is in its machine code, without stopping it: the kernel notes the
// program counter after every kPeriod of CPU time (a software event of perf_event_open, user code
// only).
//
// Thread safety: none; used by one reader.
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
  // In CPU time of the thread. Each note interrupts the thread, for 2 µs on hardware and about 50
  // µs in a virtual machine, where the hypervisor sets timers. So the notes cost 0.01 to 0.25 % of
  // CPU time.
  static constexpr std::chrono::nanoseconds kPeriod{20'000'000};

  struct Note {
    std::uint64_t counter = 0;  // an address in the thread's process
    std::int64_t monotonic_ns = 0;
  };

  ProgramCounter() = default;
  ~ProgramCounter();
  ProgramCounter(ProgramCounter&& other) noexcept;
  ProgramCounter& operator=(ProgramCounter&&) = delete;

  // Starts with the thread `tid` of any process whose memory may be read. Returns 0 or the system's
  // error: EACCES or EPERM if perf_event_paranoid or a container forbids it.
  int open(pid_t tid);
  [[nodiscard]] bool is_open() const { return area_ != nullptr; }

  // Appends the notes since the last call. None is from kernel code. The kernel keeps the notes of
  // 3 s of CPU time; older ones are lost.
  void take(std::vector<Note>& notes);

 private:
  OwnedFd event_;
  std::byte* area_ = nullptr;  // a page that describes the ring, then the ring
  std::size_t page_ = 0;       // bytes
  std::uint64_t read_ = 0;     // position in the stream of all bytes ever written
};

}  // namespace stepscope
