// The range in which a predicted step time likely lies, from how far earlier predictions were from
// real steps.
#pragma once

#include <optional>
#include <string_view>

#include "analyzer/facts/advice.h"

namespace stepscope {

// Real steps took between `low` and `high` times the predicted one, in 90 % of the rounds measured.
struct RatioRange {
  double low = 1;
  double high = 1;
};

// Source: bench/predict/ranges.py, from the rounds in bench/results/*-predict*.json. For
// programs that were not used to make a range, it contained more than 80 % of the rounds.
inline constexpr RatioRange kOfWorkers{1.00, 1.69};  // batches made by threads or processes
inline constexpr RatioRange kOfOtherRules{0.69, 1.36};

// Nothing for rules that were not compared with real steps: those about devices and starved
// threads, and those that give a bound.
std::optional<RatioRange> measured_to_predicted(std::string_view rule);

// The range around advice.predicted_step_ns; nothing if its rule has none or nothing is saved.
std::optional<LikelyStep> likely_range(const AdviceFacts& advice);

}  // namespace stepscope
