// How far a verdict can be trusted, and what limits the trust.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/facts/verdict.h"
#include "analyzer/verdict/bootstrap.h"
#include "analyzer/verdict/classify.h"

namespace stepscope {

// Fewer steps lower the confidence to medium, and to low.
inline constexpr std::int64_t kEnoughSteps = 20;
inline constexpr std::int64_t kMinSteps = 5;

struct ConfidenceInput {
  std::int64_t steps = 0;     // that the verdict rests on
  bool warm_up_only = false;  // there are no other steps
  bool ops_recorded = true;
  bool input_inferred = false;  // no loader was seen
  bool input_unsure = false;    // inferred, and may be other work
  bool input_unknown = false;   // waiting cannot be distinguished from computing
  Interval ci;                  // of the deciding share
  Bottleneck bottleneck;
  bool near_threshold = false;  // near_threshold() has a result
  double starved = 0;           // of the step: threads had no core
  std::int64_t ops = 0;         // recorded
  std::int64_t lost = 0;        // events lost, or too late to be assigned to a step
  bool incomplete = false;      // the recording ended before the program
  bool device_unknown = false;  // the records of the device were lost
  bool native_unknown = false;  // it is unknown which native libraries ran outside the ops
};

struct Confidence {
  std::string level;           // "high", "medium", "low"
  std::vector<Doubt> reasons;  // why not "high"; empty when it is
};

// "high" unless one of these lowers it; the lowest wins:
//   low     a compute-bound rank of several without ops (ranks.h); fewer than 5 steps; only warm-up
//   steps; an interval wider than 20 points; more than 1 %
//           lost; calls without any ops, waits or backward passes; an input-bound verdict
//           from pauses that may be other work; a loop whose device left no records, because they
//           were lost; a fifth of the step starved of cores, and another
//           verdict
//   medium  fewer than 20 steps; an interval wider than 10 points, or one that contains a threshold
//           of the verdict; a share within a point of a threshold; any loss; a recording that ended
//           early; ops not recorded; an input-bound verdict from inferred input; a host-bound one
//           without a look at the native libraries that the program calls; a tenth
//           of the step starved of cores, and another verdict
Confidence confidence_of(const ConfidenceInput& input);

}  // namespace stepscope
