// How the kernel scheduled a thread: for how long it ran, and for how long it was ready and had no
// core (starved), from the schedstat file that each thread has under /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/ring/clock.h"
#include "profiler/visibility.h"

namespace stepscope {

// Since the thread began. A wait that is still going on is not in it.
struct ScheduleTimes {
  std::int64_t run_ns = 0;
  std::int64_t starved_ns = 0;
};

// "RUN STARVED SLICES"; nothing for any other text.
STEPSCOPE_INTERNAL std::optional<ScheduleTimes> parse_schedstat(std::string_view text);

// A schedstat file that is kept open: a reading is one pread(), of half a microsecond. It lives in
// a program that may close any descriptor and open a file of its own in its place, so the file is
// recognised before it is read or closed.
//
// Thread safety: none. Never throws.
class STEPSCOPE_INTERNAL ScheduleFile {
 public:
  ScheduleFile() = default;
  ~ScheduleFile() { close(); }
  ScheduleFile(ScheduleFile&& other) noexcept;
  ScheduleFile& operator=(ScheduleFile&& other) noexcept;

  // False when it cannot be opened.
  bool open(const char* path);
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // Nothing when the file is not ours any more, or the thread has ended.
  std::optional<ScheduleTimes> read();
  void close();

 private:
  [[nodiscard]] bool is_ours() const;

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Decides at the marks of one thread when the file is worth reading: only after the thread was off
// its core. While it runs, a mark costs a comparison.
//
// Thread safety: none; the thread's own.
class STEPSCOPE_INTERNAL ThreadSchedule {
 public:
  // From one mark to another. `run_ns` + `starved_ns` is at most its length, and the rest it was
  // blocked.
  struct Stretch {
    Ticks start{};
    Ticks end{};
    std::int64_t run_ns = 0;
    std::int64_t starved_ns = 0;
  };
  // Time off the core that is not looked into.
  static constexpr std::int64_t kIgnoredNs = 100'000;

  // `path`: of the thread that marks; kept.
  explicit ThreadSchedule(const char* path = "/proc/thread-self/schedstat") : path_(path) {}

  // A mark at `now`, which is `wall_ns` on CLOCK_MONOTONIC, where the thread's CPU clock shows
  // `cpu_ns`. Where `has_room` is false, the stretch is left to a later mark.
  std::optional<Stretch> mark(Ticks now, std::int64_t wall_ns, std::int64_t cpu_ns, bool has_room);
  // Whether mark() may have something to say at `wall_ns`, for callers that would have to read the
  // CPU clock first.
  [[nodiscard]] bool is_due(std::int64_t wall_ns) const {
    return !given_up_ && wall_ns - last_.wall_ns > kIgnoredNs;
  }
  // Another thread, as after a fork, or another recording.
  void restart();

 private:
  struct Mark {
    Ticks at{};
    std::int64_t wall_ns = 0;
    std::int64_t cpu_ns = 0;
  };
  std::optional<ScheduleTimes> read();

  const char* path_;
  ScheduleFile file_;
  Mark last_;
  std::optional<Mark> from_;                // of the stretch that is to be read
  std::int64_t off_core_ns_ = 0;            // since the last reading
  std::optional<std::int64_t> starved_ns_;  // as far as stretches have told it
  int openings_ = 0;
  bool started_ = false;
  bool given_up_ = false;
};

}  // namespace stepscope
