// Where a running thread is in its machine code, without stopping it: the kernel notes the program
// counter each kPeriod that the thread runs (a software event of perf_event_open, user code only).
//
// Thread safety: none; one reader's.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "profiler/channel/owned_fd.h"
#include "store/events.h"

namespace stepscope {

class ProgramCounter {
 public:
  static constexpr std::chrono::nanoseconds kPeriod = kNativeCodeAge;  // of its CPU time

  ProgramCounter() = default;
  ~ProgramCounter();
  ProgramCounter(ProgramCounter&& other) noexcept;
  ProgramCounter& operator=(ProgramCounter&&) = delete;

  // Of the thread `tid` of any process whose memory may be read. 0, or the error of the system:
  // EACCES and EPERM where perf_event_paranoid or a container forbids it.
  int open(pid_t tid);
  [[nodiscard]] bool is_open() const { return area_ != nullptr; }

  // The latest that was noted, at most kPeriod of the thread's CPU time ago. Nothing where that was
  // longer than kLongestAgo before now, which is also where the thread is in the kernel since.
  static constexpr std::chrono::milliseconds kLongestAgo{20};
  [[nodiscard]] std::optional<std::uint64_t> latest() const;

 private:
  OwnedFd event_;
  std::byte* area_ = nullptr;  // a page that describes the ring, and the ring
  std::size_t page_ = 0;       // bytes
};

}  // namespace stepscope
