#include "analyzer/verdict/run_use.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "analyzer/steps/segment_ranges.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

void judge(SegmentUse& use) {
  if (use.run_share < kSegmentJudged || use.input_share() < kModeratelyInputBound) return;
  use.bottleneck.category = Category::kInput;
  use.bottleneck.kind = "input-bound";
  use.bottleneck.degree = use.input_share() >= kHighlyInputBound ? "highly" : "moderately";
  use.bottleneck.share = use.input_share();
}

// Whether `segment` goes on with the time between epochs that a checkpoint or an evaluation
// interrupted: `last` is the last part before.
bool continues(const LoopSegment& segment, const LoopSegment* last) {
  return segment.kind == SegmentKind::kBetweenEpochs && last != nullptr &&
         segment.step == last->step;
}

std::vector<SegmentUse> uses_of(const std::vector<LoopSegment>& segments, std::int64_t run_ns) {
  std::array<SegmentUse, kSegmentKindCount> uses{};
  std::array<const LoopSegment*, kSegmentKindCount> last{};
  for (const LoopSegment& segment : segments) {
    SegmentUse& use = uses[static_cast<std::size_t>(segment.kind)];
    use.kind = segment.kind;
    if (!continues(segment, last[static_cast<std::size_t>(segment.kind)])) ++use.count;
    last[static_cast<std::size_t>(segment.kind)] = &segment;
    use.total_ns += to_ns(segment.dur);
    use.batches += segment.batches;
    use.input_ns += to_ns(segment.input);
  }
  std::vector<SegmentUse> found;
  for (SegmentUse& use : uses) {
    if (use.count == 0) continue;
    if (run_ns > 0) use.run_share = static_cast<double>(use.total_ns) / static_cast<double>(run_ns);
    judge(use);
    found.push_back(use);
  }
  return found;
}

}  // namespace

RunUse measure_run_use(const std::vector<Step>& steps, const std::vector<LoopSegment>& segments,
                       std::int64_t run_ns) {
  RunUse use;
  if (steps.empty()) return use;
  const SessionTime first = steps.front().start, last = steps.back().end();
  use.run_ns = std::max(run_ns, to_ns(last));
  if (!segments.empty())
    use.run_ns = std::max(use.run_ns, to_ns(segments.back().start + segments.back().dur));
  for (const Step& step : steps) {
    use.training_ns += to_ns(step.dur);
    use.input_ns += exposed_ns(step, Category::kInput);
  }
  use.segments = uses_of(segments, use.run_ns);
  use.startup_ns = to_ns(length_outside_of({session_time(0), first}, segments));
  std::int64_t rest = use.run_ns - use.startup_ns - use.training_ns;
  for (const SegmentUse& segment : use.segments) rest -= segment.total_ns;
  use.rest_ns = std::max<std::int64_t>(rest, 0);
  return use;
}

}  // namespace stepscope
