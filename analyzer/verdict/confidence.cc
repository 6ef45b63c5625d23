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
  const auto lower = [&](bool applies, Level to, DoubtKind kind, std::int64_t count = 0) {
    if (!applies) return;
    level = std::max(level, to);
    result.reasons.push_back({kind, count});
  };
  const double width = input.ci.high - input.ci.low;
  const double lost =
      input.lost == 0 ? 0
                      : static_cast<double>(input.lost) /
                            static_cast<double>(std::max<std::int64_t>(input.ops + input.lost, 1));
  lower(input.warm_up_only, kLow, DoubtKind::kWarmUpOnly);
  lower(input.steps < kEnoughSteps, input.steps < kMinSteps ? kLow : kMedium, DoubtKind::kFewSteps,
        input.steps);
  lower(width > 0.10, width > 0.20 ? kLow : kMedium, DoubtKind::kStepsVary);
  lower(input.near_threshold || holds_threshold(input.ci, input.bottleneck), kMedium,
        DoubtKind::kNearThreshold);
  lower(!input.bottleneck.starved && input.starved >= kStallListed,
        input.starved >= kStallNamed ? kLow : kMedium, DoubtKind::kStarved);
  lower(input.lost > 0, lost > 0.01 ? kLow : kMedium, DoubtKind::kLostEvents, input.lost);
  lower(input.incomplete, kMedium, DoubtKind::kIncomplete);
  lower(!input.ops_recorded, kMedium, DoubtKind::kNoOps);
  lower(input.input_unknown, kLow, DoubtKind::kInputUnknown);
  lower(input.device_unknown, kLow, DoubtKind::kDeviceUnknown);
  lower(input.native_unknown && input.bottleneck.kind == "host-bound", kMedium,
        DoubtKind::kNativeUnknown);
  const bool input_bound = input.bottleneck.kind == "input-bound";
  lower(input_bound && input.input_inferred && !input.input_unsure, kMedium,
        DoubtKind::kInputInferred);
  lower(input_bound && input.input_unsure, kLow, DoubtKind::kInputUnsure);
  result.level = kNames[level];
  return result;
}

}  // namespace stepscope
