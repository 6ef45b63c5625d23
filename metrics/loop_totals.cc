#include "metrics/loop_totals.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

double seconds(Duration duration) { return static_cast<double>(to_ns(duration)) / 1e9; }

struct NewSteps {
  std::int64_t count = 0;
  double seconds = 0;
  SessionTime until;
};

// Each frame divides the time into inferred steps again, so a step counts as new if most of it is.
bool is_new(SessionTime end, Duration dur, SessionTime until) { return end - dur / 2 > until; }

NewSteps steps_after(const std::vector<LiveStep>& history, SessionTime until) {
  NewSteps steps{0, 0, until};
  for (auto step = history.rbegin(); step != history.rend(); ++step) {
    if (!is_new(step->end, step->dur, until)) break;
    ++steps.count;
    steps.seconds += seconds(step->dur);
    steps.until = std::max(steps.until, step->end);
  }
  return steps;
}

template <std::size_t kSize>
void distribute(double amount, const std::array<double, kSize>& weights,
                std::array<double, kSize>& totals) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < kSize; ++i) totals[i] += amount * weights[i] / sum;
}

std::array<double, kPhaseNames.size()> phase_weights(const PhaseMeans& means) {
  return {means.input, means.forward, means.backward, means.optimizer, means.other};
}

template <typename Array>
bool any(const Array& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0) > 0;
}

struct Weights {
  std::array<double, kCategoryCount> categories{};
  std::array<double, kPhaseNames.size()> phases{};
};

// How the steps after `until` spent their time, or, if none of them was analysed, all steps of the
// window. The steps of a device do not say in which phase the host was.
Weights weights_of(const LoopReport& loop, SessionTime until) {
  std::vector<std::size_t> added;
  std::ranges::copy_if(loop.analysed, std::back_inserter(added), [&](std::size_t i) {
    return is_new(loop.steps[i].end(), loop.steps[i].dur, until);
  });
  if (added.empty()) return {loop.shares, phase_weights(loop.phases)};
  const bool on_host = loop.device == DeviceId::kNone;
  return {exposed_shares(loop.steps, added),
          phase_weights(on_host ? phase_means(loop.steps, added) : loop.phases)};
}

}  // namespace

void LoopTotalsTable::add(const LiveFrame& frame) {
  ++frames_;
  for (std::size_t i = 0; i < frame.loops.size(); ++i) {
    Entry& entry = entries_[key_of(frame.window.loops[i], frame.loops[i])];
    entry.frame = frames_;
    add_steps(entry, frame.window.loops[i], frame.loops[i]);
  }
  while (entries_.size() > kMax) drop_oldest();
}

void LoopTotalsTable::add_steps(Entry& entry, const LoopReport& loop, const LiveLoop& live) {
  const Weights weights = weights_of(loop, entry.until);
  // Counted with the next frame that knows them.
  if (!any(weights.categories) || !any(weights.phases)) return;
  NewSteps added = steps_after(live.history, entry.until);
  const std::int64_t steps_before = entry.totals.steps;
  entry.totals.steps = std::max(steps_before + added.count, live.steps.value_or(0));
  // The history is limited: steps that dropped out of it are taken to be as long as those in it.
  const bool overrun = live.history.size() >= kLiveHistory &&
                       added.count == static_cast<std::int64_t>(live.history.size());
  if (overrun && steps_before > 0) {
    added.seconds *=
        static_cast<double>(entry.totals.steps - steps_before) / static_cast<double>(added.count);
  }
  entry.until = added.until;
  entry.totals.step_s += added.seconds;
  distribute(added.seconds, weights.categories, entry.totals.category_s);
  distribute(added.seconds, weights.phases, entry.totals.phase_s);
}

LoopTotals LoopTotalsTable::of(const LoopKey& key) const {
  const auto entry = entries_.find(key);
  return entry == entries_.end() ? LoopTotals() : entry->second.totals;
}

void LoopTotalsTable::drop_oldest() {
  entries_.erase(std::min_element(
      entries_.begin(), entries_.end(),
      [](const auto& a, const auto& b) { return a.second.frame < b.second.frame; }));
}

}  // namespace stepscope
