#include "profiler/recorder/ring_collector.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "profiler/recorder/blocked_signals.h"
#include "profiler/recorder/pace.h"
#include "profiler/recorder/prompt_wakeups.h"

namespace stepscope {

RingCollector::~RingCollector() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void RingCollector::add(std::shared_ptr<RingBacklog> backlog) {
  {
    const std::scoped_lock lock(mutex_);
    backlogs_.push_back(std::move(backlog));
  }
  if (thread_.joinable()) return;
  try {
    const BlockedSignals blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // too many processes, or no memory for a stack
  }
}

void RingCollector::run() noexcept {
  using Clock = std::chrono::steady_clock;
  request_prompt_wakeups();
  std::unique_lock lock(mutex_);
  std::chrono::nanoseconds period = kDrainPeriod;
  auto last_visit = Clock::now();
  auto next_choice = last_visit;
  OtherCpus cpus;
  while (!wake_.wait_for(lock, period, [this] { return stopping_; })) {
    const auto now = Clock::now();
    const double fullest = visit();
    if (now >= next_choice) {
      cpus_of_writers_.clear();
      if (fullest < kIdleFullness) cpus_of_writers_ = cpus_of_writers();
      cpus.avoid(cpus_of_writers_);
      next_choice = now + kCpuChoicePeriod;
    }
    period = collect_period(fullest, now - std::exchange(last_visit, now), period);
  }
}

// Empty if memory runs out.
std::vector<int> RingCollector::cpus_of_writers() const noexcept try {
  std::vector<int> cpus;
  for (const auto& backlog : backlogs_) {
    for (const auto& [pid, tid] : backlog->writers()) cpus.push_back(last_cpu_of(pid, tid));
  }
  return cpus;
} catch (const std::bad_alloc&) {
  return {};
}

void RingCollector::keep_off_writers(OtherCpus& own) noexcept {
  const std::scoped_lock lock(mutex_);
  own.avoid(cpus_of_writers_);
}

double RingCollector::visit() noexcept {
  backlogs_.remove_if([](const auto& backlog) { return backlog->closed(); });
  std::uint64_t held = 0;
  for (const auto& backlog : backlogs_) held += backlog->held();
  double fullest = 0;
  for (const auto& backlog : backlogs_) {
    const std::uint64_t others = held - std::min(held, backlog->held());
    constexpr std::uint64_t kMax = kMaxCollectedBytes / sizeof(Slot);
    try {
      const std::uint64_t slots = backlog->collect(kMax - std::min(kMax, others));
      fullest = std::max(fullest, static_cast<double>(slots) / backlog->slot_count());
    } catch (const std::bad_alloc&) {  // the slots stay in the rings
    }
  }
  return fullest;
}

}  // namespace stepscope
