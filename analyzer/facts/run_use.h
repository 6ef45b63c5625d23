// Where the time of the whole run went, as one training loop shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/facts/bottleneck.h"
#include "store/analysis.h"

namespace stepscope {

// All segments of one kind.
struct SegmentUse {
  SegmentKind kind = SegmentKind::kEvaluation;
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
  std::int64_t batches = 0;
  std::int64_t input_ns = 0;  // part of total_ns
  double run_share = 0;
  // If they take kSegmentJudged of the run or more: what bounds them, as far as marks show. The
  // kind is "input-bound" or empty.
  Bottleneck bottleneck;

  [[nodiscard]] double input_share() const {
    return total_ns > 0 ? static_cast<double>(input_ns) / static_cast<double>(total_ns) : 0;
  }
};

inline constexpr double kSegmentJudged = 0.20;

// In ns. The parts and the segments sum to run_ns.
struct RunUse {
  std::int64_t run_ns = 0;           // of the recording
  std::int64_t startup_ns = 0;       // before the first step, without segments
  std::int64_t training_ns = 0;      // in steps, warm-up included
  std::int64_t input_ns = 0;         // part of training_ns: steps that waited for input
  std::int64_t rest_ns = 0;          // after the last step, without segments
  std::vector<SegmentUse> segments;  // one for each kind that occurs

  // The share of the run in which it trained and did not wait for input.
  [[nodiscard]] double goodput() const {
    return run_ns > 0 ? static_cast<double>(training_ns - input_ns) / static_cast<double>(run_ns)
                      : 0;
  }
};

}  // namespace stepscope
