#include "analyzer/advise/likely_range.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 12> kMeasured{
    "evaluation-mode",   "fused-optimizer", "gradients-in-inference", "input-cache",
    "keep-freed-memory", "more-workers",    "periodic-stall",         "persistent-workers",
    "read-at-once",      "single-samples",  "sort-by-length",         "torchscript"};

}  // namespace

std::optional<RatioRange> measured_to_predicted(std::string_view rule) {
  if (rule == "input-prefetch") return kOfWorkers;
  if (std::find(kMeasured.begin(), kMeasured.end(), rule) != kMeasured.end()) return kOfOtherRules;
  return std::nullopt;
}

std::optional<LikelyStep> likely_range(const AdviceFacts& advice) {
  const auto ratio = measured_to_predicted(advice.rule);
  if (!ratio || advice.saves_ns <= 0) return std::nullopt;
  const auto predicted = static_cast<double>(advice.predicted_step_ns);
  return LikelyStep{std::llround(predicted * ratio->low), std::llround(predicted * ratio->high)};
}

}  // namespace stepscope
