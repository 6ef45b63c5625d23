#include "profiler/recorder/watched_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "profiler/cupti/device_area.h"
#include "profiler/ring/clock.h"

namespace stepscope {
namespace {

// A descriptor that becomes readable when the process ends.
OwnedFd open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  return {};
#endif
}

// The program writes the text, so it may hold any bytes and may lack the final NUL.
template <std::size_t kSize>
std::string text_in(const char (&text)[kSize]) {
  return {text, strnlen(text, kSize)};
}

}  // namespace

WatchedProcess::WatchedProcess(const Listener::Arrival& arrival, ProcessId process,
                               StoreSession& session, std::shared_ptr<RingBacklog> backlog)
    : pid(arrival.pid),
      rank(arrival.hello.rank),
      pidfd(open_pidfd(arrival.pid)),
      region(arrival.region),
      counters(std::in_place, arrival.pid),
      oom(arrival.pid),
      oom_kills_before(oom.read()),
      drain(session.open_drain(region, process, std::move(backlog))) {}

WatchedProcess::~WatchedProcess() { unmap(); }

void WatchedProcess::unmap() {
  drain.close();
  unmap_region(region);
  region = {};
}

bool WatchedProcess::is_over() const {
  if (!pidfd) return kill(pid, 0) != 0 && errno == ESRCH;  // before Linux 5.3
  pollfd poll_one{pidfd.get(), POLLIN, 0};
  return poll(&poll_one, 1, 0) == 1;
}

void WatchedProcess::look() {
  RegionHeader& header = *region.header;
  header.heartbeat.store(++looks_, std::memory_order_relaxed);
  const std::int64_t step_before = std::exchange(step, header.step.load(std::memory_order_relaxed));
  cudnn_benchmark = header.cudnn_benchmark.load(std::memory_order_relaxed);
  if (step != step_before) last_step_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (step > 0 && first_step_ns == 0) first_step_ns = last_step_ns;
}

std::string WatchedProcess::torch_version() const {
  const RegionHeader& header = *region.header;
  if (header.described.load(std::memory_order_acquire) == 0) return {};
  return text_in(header.torch_version);
}

std::vector<std::string> WatchedProcess::take_notices(std::uint32_t ring_capacity) {
  std::vector<std::string> notices;
  const RegionHeader& header = *region.header;
  const std::uint32_t rings = header.mapped_rings.load(std::memory_order_relaxed);
  if (!told_of_limits_ && (rings != 0 || ended)) {
    told_of_limits_ = true;
    if (rings != ring_capacity) notices.push_back(limit_notice(rings));
  }
  const DeviceArea& device = *device_area(region);
  if (!told_of_device_ && device.has_notice.load(std::memory_order_acquire) != 0) {
    told_of_device_ = true;
    notices.push_back(text_in(device.notice));
  }
  if (!told_notice_ && header.described.load(std::memory_order_acquire) != 0) {
    told_notice_ = true;
    std::string notice = text_in(header.notice);
    if (!notice.empty()) notices.push_back(std::move(notice));
  }
  return notices;
}

bool WatchedProcess::take_unrecorded() {
  const std::uint32_t rings = region.header->mapped_rings.load(std::memory_order_relaxed);
  const bool unrecorded = rings == kNoRingsMapped || (rings == 0 && ended);
  return unrecorded && !std::exchange(counted_as_unrecorded_, true);
}

// A program with a limited address space maps as many rings as it can.
std::string WatchedProcess::limit_notice(std::uint32_t rings) const {
  const std::string name = "process " + std::to_string(pid) + ": ";
  if (rings == 0) return name + "it ended before it could be recorded";
  const std::string limited =
      name + "it could not reserve enough address space (ulimit -v, overcommit); ";
  if (rings == kNoRingsMapped) return limited + "no rings fit, so it is not recorded";
  return limited + "only " + std::to_string(rings) + " of its threads can be recorded at a time";
}

Status WatchedProcess::store_end(StoreSession& session, EndKind how, std::int64_t code) {
  // Also after a normal exit: not every exit runs the handler that hands over the last buffers.
  if (Status status = drain.drain_unfinished(); !status.ok()) return status;
  const bool out_of_memory = how == EndKind::kSignal && (code == SIGKILL || code == 0) &&
                             oom_kills_before >= 0 && oom.read() > oom_kills_before;
  if (how == EndKind::kSignal) {
    const std::vector<UnfinishedOp> open = drain.open_ops();
    const Status status = open.empty() ? Status() : session.writer().add(open);
    if (!status.ok()) return status;
  }
  const Status status = session.writer().add(
      ProcessEnd{drain.process(), how, code, session.now(), step, out_of_memory});
  if (!status.ok()) return status;
  unmap();
  pidfd = OwnedFd();
  counters.reset();
  return {};
}

}  // namespace stepscope
