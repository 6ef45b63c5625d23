#include "profiler/ring/thread_schedule.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "profiler/ring/no_cancellation.h"

namespace stepscope {
namespace {

// Preserves the program's errno.
class KeptErrno {
 public:
  KeptErrno() : kept_(errno) {}
  ~KeptErrno() { errno = kept_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int kept_;
};

// The kernel adds a thread's time to its schedstat at each tick, at least every 10 ms (HZ=100).
constexpr std::int64_t kMaxBehindNs = 10'000'000;

// A few are enough: a program that closes every descriptor does so once, when it becomes a daemon.
constexpr int kMaxOpenings = 3;

// Programs rely on getting the lowest free descriptors, including those of standard streams that
// they closed. So ours gets a high number.
int open_out_of_the_way(const char* path) {
  constexpr int kMin = 512;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, kMin);
  if (moved < 0) moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);  // the limit is low (ulimit -n)
  close(fd);
  return moved;
}

}  // namespace

void reserve_schedule_descriptors() {
  const NoCancellation here;
  const KeptErrno kept;
  const int fd = open_out_of_the_way("/");
  if (fd >= 0) close(fd);
}

std::optional<ScheduleTimes> parse_schedstat(std::string_view text) {
  ScheduleTimes times;
  const char* const end = text.data() + text.size();
  const auto run = std::from_chars(text.data(), end, times.run_ns);
  if (run.ec != std::errc() || run.ptr == end || *run.ptr != ' ') return std::nullopt;
  const auto starved = std::from_chars(run.ptr + 1, end, times.starved_ns);
  if (starved.ec != std::errc() || starved.ptr == end || *starved.ptr != ' ') return std::nullopt;
  if (times.run_ns < 0 || times.starved_ns < 0) return std::nullopt;
  return times;
}

ScheduleFile::ScheduleFile(ScheduleFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), device_(other.device_), inode_(other.inode_) {}

ScheduleFile& ScheduleFile::operator=(ScheduleFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

bool ScheduleFile::open(const char* path) {
  const KeptErrno kept;
  close();
  const int fd = open_out_of_the_way(path);
  if (fd < 0) return false;
  struct stat file{};
  if (fstat(fd, &file) != 0) {
    ::close(fd);
    return false;
  }
  fd_ = fd;
  device_ = file.st_dev;
  inode_ = file.st_ino;
  return true;
}

bool ScheduleFile::is_ours() const {
  struct stat file{};
  return fd_ >= 0 && fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

std::optional<ScheduleTimes> ScheduleFile::read(std::optional<std::int64_t> cpu_ns) {
  const KeptErrno kept;
  char text[96];
  const ssize_t length = pread(fd_, text, sizeof(text), 0);
  std::optional<ScheduleTimes> times;
  if (length > 0) times = parse_schedstat({text, static_cast<std::size_t>(length)});
  if (times && cpu_ns && std::abs(*cpu_ns - times->run_ns) <= kMaxBehindNs) return times;
  if (is_ours()) return times;
  fd_ = -1;  // closed by the program, which may have reused the number
  return std::nullopt;
}

void ScheduleFile::close() {
  const NoCancellation here;
  const KeptErrno kept;
  if (is_ours()) ::close(fd_);
  fd_ = -1;
}

std::optional<ScheduleTimes> ThreadSchedule::read(std::int64_t cpu_ns) {
  const NoCancellation here;
  if (file_.is_open()) {
    if (const auto times = file_.read(cpu_ns)) return times;
  }
  if (++openings_ <= kMaxOpenings && file_.open(path_)) {
    if (const auto times = file_.read()) return times;
  }
  given_up_ = true;
  file_.close();
  return std::nullopt;
}

// Where the time off the core before `now` begins: at the last reading of the clock, or at a mark
// since then if the time from there on is the only long one. The thread ran until that mark.
ThreadSchedule::Mark ThreadSchedule::stretch_start(const Mark& now) const {
  const bool is_long = to_count(now.at) - to_count(passed_) > kLongTensOfUs * kTicksInTenUs;
  if (passed_ <= last_.at || !is_long) return last_;
  const auto ran = static_cast<double>(to_count(passed_) - to_count(last_.at));
  const auto all = static_cast<double>(to_count(now.at) - to_count(last_.at));
  const double wall_ns = static_cast<double>(now.wall_ns - last_.wall_ns);
  const auto ran_ns = static_cast<std::int64_t>(wall_ns * ran / all);
  return {passed_, last_.wall_ns + ran_ns, last_.cpu_ns + ran_ns};
}

std::optional<ThreadSchedule::Stretch> ThreadSchedule::mark(Ticks now, std::int64_t wall_ns,
                                                            std::int64_t cpu_ns, bool has_room) {
  if (given_up_) return std::nullopt;
  const Mark mark{now, wall_ns, cpu_ns};
  const Mark before = stretch_start(mark);
  last_ = mark;
  passed_ = now;
  if (!std::exchange(started_, true)) return std::nullopt;
  if (close_marks_left_ > 0) --close_marks_left_;
  const std::int64_t off_core_ns = (wall_ns - before.wall_ns) - (cpu_ns - before.cpu_ns);
  off_core_ns_ += std::max<std::int64_t>(off_core_ns, 0);
  if (off_core_ns > kIgnoredNs) close_marks_left_ = kCloseMarks;
  if (off_core_ns_ <= kIgnoredNs) return std::nullopt;
  if (!from_) from_ = before;
  if (!has_room) return std::nullopt;

  const std::optional<ScheduleTimes> times = read(cpu_ns);
  const Mark from = *std::exchange(from_, std::nullopt);
  const std::int64_t off_before = std::exchange(off_core_ns_, 0);
  if (!times) return std::nullopt;
  if (!starved_ns_) {  // time before the first reading belongs to no known stretch
    starved_ns_ = times->starved_ns;
    return std::nullopt;
  }
  // A thread may lose its core between the mark and the reading: that time belongs to the next
  // stretch.
  const std::int64_t starved_ns =
      std::clamp<std::int64_t>(times->starved_ns - *starved_ns_, 0, off_before);
  *starved_ns_ += starved_ns;
  return Stretch{from.at, now, std::max<std::int64_t>(cpu_ns - from.cpu_ns, 0), starved_ns};
}

void ThreadSchedule::restart() {
  file_.close();
  last_ = {};
  passed_ = {};
  from_.reset();
  off_core_ns_ = 0;
  starved_ns_.reset();
  close_marks_left_ = kCloseMarks;
  openings_ = 0;
  started_ = false;
  given_up_ = false;
}

}  // namespace stepscope
