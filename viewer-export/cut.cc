#include "viewer-export/cut.h"

#include <algorithm>
#include <string>

namespace stepscope {

Result<Cut> cut_of(const Analysis& analysis, const std::optional<StepRange>& steps) {
  if (!steps) return Cut{};
  Cut cut;
  for (const Step& step : analysis.steps) {
    if (step.number < steps->first || step.number > steps->last) continue;
    if (!cut.range) cut.range = {step.start, step.end()};
    cut.range->start = std::min(cut.range->start, step.start);
    cut.range->end = std::max(cut.range->end, step.end());
  }
  if (cut.range) return cut;
  const std::string asked =
      "steps " + std::to_string(steps->first) + "-" + std::to_string(steps->last);
  if (analysis.steps.empty()) {
    return Status::error(ErrorKind::kUsage,
                         asked +
                             " were requested, but no step was found in this run; export it "
                             "without --steps");
  }
  const auto [low, high] = std::ranges::minmax(analysis.steps, {}, &Step::number);
  return Status::error(ErrorKind::kUsage, asked + " are not in this run, which has steps " +
                                              std::to_string(low.number) + "-" +
                                              std::to_string(high.number));
}

}  // namespace stepscope
