// How the kernel scheduled a thread: how long it ran, and how long it was ready but had no core
// (starved). Read from the schedstat file that each thread has under /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/ring/clock.h"
#include "profiler/visibility.h"

namespace stepscope {

// Totals since the thread began. A wait that has not ended is not included.
struct ScheduleTimes {
  std::int64_t run_ns = 0;
  std::int64_t starved_ns = 0;
};

// Parses "RUN STARVED SLICES"; returns nothing for any other text.
STEPSCOPE_INTERNAL std::optional<ScheduleTimes> parse_schedstat(std::string_view text);

// Makes room for the descriptors of the files below. They have high numbers, and the first high
// number that a process uses blocks it for some 10 ms if it has several threads: the kernel
// replaces its table of descriptors. So call this when a recording starts, before any thread marks
// a step.
STEPSCOPE_INTERNAL void reserve_schedule_descriptors();

// A schedstat file that is kept open: a reading is one pread(), which takes half a microsecond. The
// program may close any descriptor and reuse its number for a file of its own. So a reading is
// believed only if it says what the thread's CPU clock says, or if the file is still the one that
// was opened; and no other file is closed.
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
  // Returns nothing if the descriptor is no longer our file, or if the thread has ended. `cpu_ns`,
  // what the thread's CPU clock reads, saves the system call that checks the file.
  std::optional<ScheduleTimes> read(std::optional<std::int64_t> cpu_ns = std::nullopt);
  void close();

 private:
  [[nodiscard]] bool is_ours() const;

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Decides at each mark of a thread whether the file is worth reading: only after the thread was off
// its core. That needs its CPU clock, and reading it is a system call, which takes up to 10 µs once
// a step has filled the caches. So while the thread keeps its core, the clock is read only after a
// millisecond without a mark, and every 16 ms. Once the thread has lost its core, the next marks
// are followed closely, so that the time is divided by phases.
//
// Thread safety: none; each thread has its own.
class STEPSCOPE_INTERNAL ThreadSchedule {
 public:
  // The time from one mark to another. `run_ns` + `starved_ns` is at most its length; for the rest
  // of it, the thread was blocked.
  struct Stretch {
    Ticks start{};
    Ticks end{};
    std::int64_t run_ns = 0;
    std::int64_t starved_ns = 0;
  };
  // Off-core time up to this is ignored.
  static constexpr std::int64_t kIgnoredNs = 100'000;

  // `path`: the schedstat file of the thread that marks; must outlive this object.
  explicit ThreadSchedule(const char* path = "/proc/thread-self/schedstat") : path_(path) {}

  // A mark at `now`, when CLOCK_MONOTONIC reads `wall_ns` and the thread's CPU clock reads
  // `cpu_ns`. Returns the stretch that ends here, if it is worth recording. If `has_room` is false,
  // a later mark returns it.
  STEPSCOPE_HOT std::optional<Stretch> mark(Ticks now, std::int64_t wall_ns, std::int64_t cpu_ns,
                                            bool has_room);
  // For callers that would have to read the CPU clock first: whether to call mark(). If not, notes
  // that the thread has passed a mark.
  [[nodiscard]] bool is_due(Ticks now) {
    const bool close = close_marks_left_ > 0;
    const std::uint64_t since_read = to_count(now) - to_count(last_.at);
    const std::uint64_t since_mark = to_count(now) - to_count(passed_);
    const bool due = since_read > (close ? kCloseTensOfUs : kFarTensOfUs) * kTicksInTenUs ||
                     (!close && since_mark > kLongTensOfUs * kTicksInTenUs);
    if (!due) passed_ = now;
    return due && !given_up_;
  }
  // For another thread, as after a fork, or another recording.
  void restart();

 private:
  struct Mark {
    Ticks at{};
    std::int64_t wall_ns = 0;
    std::int64_t cpu_ns = 0;
  };
  std::optional<ScheduleTimes> read(std::int64_t cpu_ns);
  STEPSCOPE_HOT [[nodiscard]] Mark stretch_start(const Mark& now) const;

  static constexpr std::uint64_t kCloseTensOfUs = 10;
  static constexpr std::uint64_t kFarTensOfUs = 1600;
  static constexpr std::uint64_t kLongTensOfUs = 100;
  static constexpr int kCloseMarks = 200;  // some 50 steps

  // First what is_due() reads: one cache line.
  Ticks passed_{};  // the last mark, whether the clock was read there or not
  Mark last_;
  int close_marks_left_ = kCloseMarks;
  bool given_up_ = false;
  bool started_ = false;
  const char* path_;
  ScheduleFile file_;
  std::optional<Mark> from_;                // start of the stretch not yet read
  std::int64_t off_core_ns_ = 0;            // since the last reading
  std::optional<std::int64_t> starved_ns_;  // total of the stretches so far
  int openings_ = 0;
};

}  // namespace stepscope
