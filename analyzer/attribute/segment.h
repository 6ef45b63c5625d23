// The state of a loop thread over time, as the sweep hands it out piece by piece. Steps add the
// pieces up; idle time of a device is to be blamed on the piece that its launching thread was in.
#pragma once

#include <functional>

#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

// One stretch in which nothing changed.
struct Segment {
  TimeRange range;
  Category category = Category::kHost;
  PhaseKind phase = PhaseKind::kNone;  // kInput, kForward, kBackward, kOptimizer or kNone
  StringId label = StringId::kNone;    // kOther: the scope
  StringId op = StringId::kNone;  // the innermost op that was running, also inside an input wait
};

// The segments of one step come in order of time, without gaps or overlaps.
using SegmentSink = std::function<void(const Segment&)>;

}  // namespace stepscope
