#include "profiler/stacks/program_counter.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stepscope {
namespace {

// The record that the kernel writes for PERF_SAMPLE_IP and PERF_SAMPLE_TIME.
struct Noted {
  perf_event_header header;
  std::uint64_t counter;
  std::uint64_t time;
};

perf_event_attr attributes() {
  perf_event_attr wanted{};
  wanted.size = sizeof(wanted);
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.sample_period = static_cast<std::uint64_t>(ProgramCounter::kPeriod.count());
  wanted.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
  wanted.exclude_kernel = 1;  // user code is all that is allowed without privilege
  wanted.exclude_hv = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC;
  return wanted;
}

}  // namespace

ProgramCounter::~ProgramCounter() {
  if (area_ != nullptr) munmap(area_, 2 * page_);
}

ProgramCounter::ProgramCounter(ProgramCounter&& other) noexcept
    : event_(std::move(other.event_)),
      area_(std::exchange(other.area_, nullptr)),
      page_(other.page_),
      read_(other.read_) {}

int ProgramCounter::open(pid_t tid) {
  perf_event_attr wanted = attributes();
  event_ = OwnedFd(
      static_cast<int>(syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event_) return errno;
  page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // Mapped read-only: the kernel overwrites old records and need not know what has been read.
  void* area = mmap(nullptr, 2 * page_, PROT_READ, MAP_SHARED, event_.get(), 0);
  if (area == MAP_FAILED) {
    const int error = errno;
    event_ = OwnedFd();
    return error;
  }
  area_ = static_cast<std::byte*>(area);
  return 0;
}

void ProgramCounter::take(std::vector<Note>& notes) {
  if (area_ == nullptr) return;
  const auto* page = reinterpret_cast<const perf_event_mmap_page*>(area_);
  const std::byte* const ring = area_ + page_;
  const auto end_of_ring = [page] {
    const std::uint64_t end = *static_cast<const volatile __u64*>(&page->data_head);
    std::atomic_thread_fence(std::memory_order_acquire);
    return end;
  };
  const std::uint64_t end = end_of_ring();
  if (end - read_ > page_) {
    const std::uint64_t lost = (end - read_ - page_ + sizeof(Noted) - 1) / sizeof(Noted);
    read_ += lost * sizeof(Noted);
  }
  for (; read_ + sizeof(Noted) <= end; read_ += sizeof(Noted)) {
    std::array<std::byte, sizeof(Noted)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = ring[(read_ + i) % page_];
    // Check after the copy whether the kernel has overwritten it meanwhile.
    if (end_of_ring() - read_ > page_) continue;
    Noted noted{};
    std::memcpy(&noted, bytes.data(), sizeof(noted));
    if (noted.header.type != PERF_RECORD_SAMPLE || noted.header.size != sizeof(noted)) {
      read_ = end;  // another kind of record: the start of the next one is unknown
      return;
    }
    notes.push_back({noted.counter, static_cast<std::int64_t>(noted.time)});
  }
}

}  // namespace stepscope
