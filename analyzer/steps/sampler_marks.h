// What the marks of a torch::data sampler say about the batches of a loop.
//
// A loader asks its sampler for the samples of the next batch. Without workers it does so when the
// loop requests a batch: a mark is the start of a fetch, and one extra mark ends the epoch. With N
// workers it asks 2·N times at once when an epoch begins, and then once per delivered batch: a mark
// is the end of a wait. The first marks of the thread show which of the two applies.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/recording.h"
#include "analyzer/steps/find_loops.h"
#include "store/events.h"

namespace stepscope {

// Marks with nothing in between: at most this far apart, in time and as a share of the usual
// distance between marks (its 90th percentile).
inline constexpr Duration kBackToBack{500'000};
inline constexpr double kBackToBackShare = 0.1;

struct SamplerMarks {
  struct Group {
    TimeRange range;
    std::size_t marks = 0;
  };
  std::vector<Group> groups;  // back-to-back marks form one group; in order
  bool ahead = false;         // workers fetch ahead

  // An epoch of a loader with workers begins with it.
  [[nodiscard]] bool is_burst(std::size_t group) const { return ahead && groups[group].marks > 1; }
  // It has only the 2·N marks of the prefetch: the mark of the first batch is the next group. An
  // odd number includes the mark of a first batch that arrived at once.
  [[nodiscard]] bool awaits_first(std::size_t group) const {
    return is_burst(group) && groups[group].marks % 2 == 0;
  }
};

// `phases` of one thread, by start. No groups when there are no marks.
SamplerMarks sampler_marks(const std::vector<Phase>& phases);

// One step per batch; the last batch of a loader with workers has no end mark and is not a step.
std::vector<TimeRange> sampler_steps(const std::vector<Phase>& phases);

// The waits of a loop that never trains, from its marks and ops. Without workers: from a mark to
// the first op after it that uses a weight, because samples may be made by ops too. If none is
// known to use one, to the first op: a lower bound. With workers: from the last op to the mark.
// Where no ops were recorded, nothing is known.
//
// Memory: three times per mark.
class SamplerInput {
 public:
  explicit SamplerInput(const std::vector<Phase>& phases);

  void add(const Op& op, bool uses_weight);  // not of a scope
  [[nodiscard]] InferredInput finish(ThreadId thread) const;

 private:
  [[nodiscard]] TimeRange wait_at(std::size_t group) const;

  SamplerMarks marks_;
  std::vector<SessionTime> last_end_;      // of the ops before a group and after the one before it
  std::vector<SessionTime> first_start_;   // of the ops after a group and before the next one
  std::vector<SessionTime> first_weight_;  // the same, of those that use a weight
};

}  // namespace stepscope
