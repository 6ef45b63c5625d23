#include "analyzer/verdict/confidence.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

enum Level { kHigh, kMedium, kLow };
constexpr std::array<const char*, 3> kNames = {"high", "medium", "low"};

bool holds_threshold(const Interval& ci, const Bottleneck& bottleneck) {
  if (!bottleneck.is_stall()) return false;
  const auto inside = [&ci](double t) { return ci.low < t && t <= ci.high; };
  if (bottleneck.category != Category::kInput || bottleneck.overlaps()) return inside(kStallNamed);
  return inside(kModeratelyInputBound) || inside(kHighlyInputBound);
}

}  // namespace

Confidence confidence_of(const ConfidenceInput& input) {
  Level level = kHigh;
  Confidence result;
  const auto lower = [&](bool applies, Level to, std::string reason) {
    if (!applies) return;
    level = std::max(level, to);
    result.reasons.push_back(std::move(reason));
  };
  const double width = input.ci.high - input.ci.low;
  const double lost =
      input.lost == 0 ? 0
                      : static_cast<double>(input.lost) /
                            static_cast<double>(std::max<std::int64_t>(input.ops + input.lost, 1));
  lower(input.warm_up_only, kLow, "only warm-up steps");
  lower(input.steps < 20, input.steps < 5 ? kLow : kMedium,
        "only " + std::to_string(input.steps) + (input.steps == 1 ? " step" : " steps"));
  lower(width > 0.10, width > 0.20 ? kLow : kMedium, "steps vary widely");
  lower(input.near_threshold || holds_threshold(input.ci, input.bottleneck), kMedium,
        "close to a threshold");
  lower(!input.bottleneck.starved && input.starved >= kStallListed,
        input.starved >= kStallNamed ? kLow : kMedium, "threads had no core");
  lower(input.lost > 0, lost > 0.01 ? kLow : kMedium, std::to_string(input.lost) + " events lost");
  lower(input.incomplete, kMedium, "the recording ended before the program");
  lower(!input.ops_recorded, kMedium, "no ops recorded");
  lower(input.input_unknown, kLow, "input cannot be distinguished from compute");
  const bool input_bound = input.bottleneck.kind == "input-bound";
  lower(input_bound && input.input_inferred && !input.input_unsure, kMedium,
        "input inferred, no loader seen");
  lower(input_bound && input.input_unsure, kLow, "input inferred, it may be other work");
  result.level = kNames[level];
  return result;
}

}  // namespace stepscope
