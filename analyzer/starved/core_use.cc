#include "analyzer/starved/core_use.h"

#include <algorithm>
#include <limits>

#include "store/counters.h"

namespace stepscope {
namespace {

constexpr double kIdleCore = 0.5;  // cores

// The change of a total in seconds per second; 0: not sampled.
double rate(const Counters& counters, ProcessId process, const char* name, TimeRange range) {
  const CounterSeries* series = counters.find(process, name);
  const double length = static_cast<double>(to_ns(range.length()));
  return series == nullptr || length <= 0 ? 0 : std::max(series->change(range), 0.0) / length;
}

double gauge(const Counters& counters, ProcessId process, const char* name) {
  const CounterSeries* series = counters.find(process, name);
  return series == nullptr ? 0 : series->last();
}

// The fewest cores to which a starved thread is tied.
std::int64_t tied_to(const LoopReport& report, const Schedule& schedule) {
  const Starvation& starvation = report.starvation;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  const auto look = [&](std::int64_t cores) {
    if (cores > 0) fewest = std::min(fewest, cores);
  };
  if (starvation.worker_share > starvation.loop_share) {
    for (const ThreadShares& worker : starvation.workers) {
      if (worker.shares.starved >= kStallListed) look(worker.cores);
    }
  } else {
    for (const WatchedSeries& series : schedule.threads) {
      if (series.thread.pid == report.pid && series.thread.tid == report.tid) look(series.cores);
    }
  }
  return fewest == std::numeric_limits<std::int64_t>::max() ? 0 : fewest;
}

CoreTaker taker_of(const CoreUse& use, double starved_share, std::int64_t machine) {
  if (use.quota > 0 && use.throttled >= starved_share / 2) return CoreTaker::kQuota;
  if (use.pinned_to > 0 && use.pinned_to < machine && use.idle >= kIdleCore)
    return CoreTaker::kPinning;
  if (use.available > 0 && static_cast<double>(use.own_busy) > use.available)
    return CoreTaker::kOwnThreads;
  return use.others + use.stolen >= 0.1 ? CoreTaker::kOthers : CoreTaker::kUnknown;
}

}  // namespace

CoreUse measure_cores(const LoopReport& report, const Schedule& schedule, const Counters& counters,
                      const RecordedRun& recording, TimeRange range) {
  CoreUse use;
  const double length = static_cast<double>(to_ns(range.length()));
  const std::int64_t machine = recording.facts.cpu_count;
  use.available = static_cast<double>(machine);
  const double allowed = gauge(counters, report.process, counter::kCores);
  if (allowed > 0 && (machine == 0 || allowed < use.available)) use.available = allowed;
  use.allowed = use.available;
  use.quota = gauge(counters, report.process, counter::kCpuQuota) / 1000;
  if (use.quota > 0) use.available = std::min(use.available, use.quota);
  use.throttled = rate(counters, report.process, counter::kCpuThrottled, range);
  for (const WatchedSeries& series : schedule.threads) {
    const double run = length > 0 ? std::max(series.run.change(range), 0.0) / length : 0;
    const double starved = length > 0 ? std::max(series.starved.change(range), 0.0) / length : 0;
    use.own += run;
    use.own_ready += run + starved;
    if (run + starved >= kBusyThread) ++use.own_busy;
  }
  const double busy = rate(counters, ProcessId::kNone, counter::kCpuBusy, range);
  use.stolen = rate(counters, ProcessId::kNone, counter::kCpuStolen, range);
  if (busy > 0) {
    use.others = std::max(busy - use.own, 0.0);
    use.idle = std::max(static_cast<double>(machine) - busy - use.stolen, 0.0);
  }
  use.pinned_to = tied_to(report, schedule);
  if (report.starvation.share >= kStallListed)
    use.taker = taker_of(use, report.starvation.share, machine);
  return use;
}

}  // namespace stepscope
