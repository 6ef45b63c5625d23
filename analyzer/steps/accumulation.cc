#include "analyzer/steps/accumulation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analyzer/median.h"

namespace stepscope {
namespace {

// The phases that show that a batch is trained on: backward passes or, without any, optimizer
// steps.
std::vector<Phase> trainings(const std::vector<Phase>& phases) {
  auto backwards = outermost(phases, PhaseKind::kBackward);
  return backwards.empty() ? outermost(phases, PhaseKind::kOptimizer) : backwards;
}

// The upper median; 0 if there are no values.
template <typename Number>
Number usual(const std::vector<Number>& values) {
  return values.empty() ? Number{} : upper_median(values);
}

// Waits without any training between them, and the trainings that follow, up to the next wait.
struct Run {
  std::size_t first = 0, end = 0;  // waits [first, end)
  std::size_t first_training = 0, trainings = 0;
};

std::vector<Run> runs_of(const std::vector<Phase>& trainings, const std::vector<Phase>& waits) {
  std::vector<Run> runs;
  std::size_t training = 0;
  Run run;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    run.end = i + 1;
    while (training < trainings.size() && trainings[training].start < waits[i].start) ++training;
    const std::size_t before = training;
    while (training < trainings.size() &&
           (i + 1 == waits.size() || trainings[training].start < waits[i + 1].start))
      ++training;
    if (training == before) continue;
    run.first_training = before;
    run.trainings = training - before;
    runs.push_back(run);
    run.first = i + 1;
  }
  return runs;
}

// A training and its batch.
struct Training {
  SessionTime start;
  std::size_t batch = 0;  // index of Trained::waits
};

struct Trained {
  std::vector<Phase> waits;
  std::vector<Training> trainings;  // those after a wait
};

Trained find_trained(const std::vector<Phase>& phases, const std::vector<Phase>& waits) {
  const auto all = trainings(phases);
  const auto runs = runs_of(all, waits);
  std::vector<double> per_batch;
  for (const Run& run : runs) {
    per_batch.push_back(static_cast<double>(run.trainings) /
                        static_cast<double>(run.end - run.first));
  }
  const auto passes = static_cast<std::size_t>(std::max(std::round(usual(per_batch)), 1.0));
  Trained trained;
  for (const Run& run : runs) {
    const std::size_t wanted = (run.trainings + passes - 1) / passes;
    const std::size_t batches = std::min(wanted, run.end - run.first);
    for (std::size_t i = 0; i < run.trainings; ++i) {
      trained.trainings.push_back({all[run.first_training + i].start,
                                   trained.waits.size() + std::min(i / passes, batches - 1)});
    }
    for (std::size_t i = run.end - batches; i < run.end; ++i) trained.waits.push_back(waits[i]);
  }
  return trained;
}

// The batches that are trained on until an optimizer step.
struct Group {
  SessionTime begin;
  std::size_t batches = 0;
  bool updates = false;
};

// `cuts`: instants, in order; the first batch that begins after one of them begins a group.
std::vector<Group> group(const std::vector<Phase>& trained, const std::vector<SessionTime>& cuts) {
  std::vector<Group> groups;
  auto cut = cuts.begin();
  for (const Phase& wait : trained) {
    const auto next =
        std::partition_point(cut, cuts.end(), [&](SessionTime at) { return at <= wait.start; });
    if (next != cut && !groups.empty()) groups.back().updates = true;
    if (next != cut || groups.empty()) groups.push_back({wait.start, 0, false});
    ++groups.back().batches;
    cut = next;
  }
  if (!groups.empty()) groups.back().updates = cut != cuts.end();
  return groups;
}

std::size_t usual_batches(const std::vector<Group>& groups) {
  std::vector<std::size_t> batches;
  for (const Group& group : groups) {
    if (group.updates) batches.push_back(group.batches);
  }
  return usual(batches);
}

// In a loop that accumulates, at least one group in this many has several batches. In a loop that
// only rarely skips an optimizer step, fewer do.
constexpr std::size_t kAccumulates = 5;

bool accumulates(const std::vector<Group>& groups) {
  std::size_t several = 0, whole = 0;
  for (const Group& group : groups) {
    whole += group.updates ? 1 : 0;
    several += group.updates && group.batches > 1 ? 1 : 0;
  }
  return several > 0 && several * kAccumulates >= whole;
}

std::vector<SessionTime> ends_of(const std::vector<Phase>& phases) {
  std::vector<SessionTime> ends;
  for (const Phase& phase : phases) ends.push_back(end_of(phase));
  return ends;
}

// Cuts where gradients were cleared: at the wait for the batch that has the first backward pass
// after that.
std::vector<SessionTime> clearings(const std::vector<Phase>& phases, const Trained& trained) {
  std::vector<SessionTime> cuts;
  for (const Phase& zero_grad : outermost(phases, PhaseKind::kZeroGrad)) {
    const auto training =
        std::partition_point(trained.trainings.begin(), trained.trainings.end(),
                             [&](const Training& t) { return t.start < zero_grad.start; });
    if (training == trained.trainings.end()) break;
    cuts.push_back(trained.waits[training->batch].start);
  }
  return cuts;
}

std::vector<SessionTime> merged(const std::vector<SessionTime>& a,
                                const std::vector<SessionTime>& b) {
  std::vector<SessionTime> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  return all;
}

bool is_in(SessionTime time, TimeRange range) { return range.start <= time && time < range.end; }

// The usual number of `times` (in order) per step.
std::int64_t usual_number(const std::vector<SessionTime>& times,
                          const std::vector<TimeRange>& steps) {
  std::vector<std::int64_t> numbers;
  auto time = times.begin();
  for (const TimeRange step : steps) {
    while (time != times.end() && *time < step.start) ++time;
    std::int64_t number = 0;
    for (; time != times.end() && is_in(*time, step); ++time) ++number;
    if (number > 0) numbers.push_back(number);
  }
  return usual(numbers);
}

}  // namespace

std::vector<Phase> trained_waits(const std::vector<Phase>& phases,
                                 const std::vector<Phase>& waits) {
  return find_trained(phases, waits).waits;
}

std::vector<TimeRange> accumulated_steps(const std::vector<Phase>& phases,
                                         const std::vector<Phase>& waits) {
  const auto updates = ends_of(outermost(phases, PhaseKind::kOptimizer));
  if (updates.empty()) return {};
  const Trained trained = find_trained(phases, waits);
  auto groups = group(trained.waits, updates);
  if (!accumulates(groups)) return {};
  const auto cleared = group(trained.waits, merged(updates, clearings(phases, trained)));
  if (cleared.size() * 2 <= groups.size() * 3) groups = cleared;

  if (!groups.back().updates && groups.back().batches < usual_batches(groups)) {
    const SessionTime end = groups.back().begin;
    groups.pop_back();
    if (groups.empty()) return {};
    groups.push_back({end, 0, false});
  } else {
    const SessionTime end = end_of_last_step(phases, trained.waits.back(), true);
    groups.push_back({std::max(end, end_of(trained.waits.back())), 0, false});
  }
  std::vector<TimeRange> steps;
  for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
    if (groups[i].begin < groups[i + 1].begin)
      steps.push_back({groups[i].begin, groups[i + 1].begin});
  }
  return steps;
}

std::int64_t batches_per_step(const std::vector<Phase>& phases, const Loop& loop) {
  if (loop.marker == StepMarker::kClosure) return 1;
  const auto waits = waits_of_steps(phases);
  std::vector<SessionTime> batches;
  if (!waits.empty() && !loop.own_batches) {
    for (const Phase& wait : loop.trains ? trained_waits(phases, waits) : waits)
      batches.push_back(wait.start);
  } else if (loop.marker == StepMarker::kOptimizer) {
    for (const Phase& backward : outermost(phases, PhaseKind::kBackward))
      batches.push_back(backward.start);
  }
  return usual_number(batches, loop.steps);
}

}  // namespace stepscope
