#include "analyzer/steps/stopped_steps.h"

#include <algorithm>
#include <utility>

#include "analyzer/median.h"

namespace stepscope {

StoppedSteps::StoppedSteps(const RecordedRun& recording, const Counters& counters, const Loop& loop)
    : own_(counters.stops(loop.process)) {
  const auto& processes = recording.processes;
  const bool is_rank =
      std::any_of(processes.begin(), processes.end(), [&](const StoredProcess& process) {
        return process.id == loop.process && process.rank >= 0;
      });
  if (!is_rank || loop.steps.empty()) return;
  for (const StoredProcess& process : processes) {
    const Stops* const stops = counters.stops(process.id);
    if (stops != nullptr && process.rank >= 0 && process.id != loop.process)
      ranks_.push_back(stops);
  }
  std::vector<Duration> lengths;
  for (const TimeRange& step : loop.steps) lengths.push_back(step.length());
  usual_ = upper_median(std::move(lengths));
}

bool StoppedSteps::contains(const TimeRange& step) const {
  if (own_ != nullptr && own_->in(step)) return true;
  return step.length() >= kLongStep * usual_ &&
         std::any_of(ranks_.begin(), ranks_.end(),
                     [&](const Stops* stops) { return stops->in(step); });
}

}  // namespace stepscope
