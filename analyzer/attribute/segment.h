// The state of a loop thread over time, as the sweep produces it piece by piece. Steps sum up the
// pieces; idle time of a device is attributed to the piece that its launching thread was in.
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
  StringId op = StringId::kNone;  // the innermost op that was running, even inside an input wait
};

// The segments of one step come in order of time, without gaps or overlaps.
using SegmentSink = std::function<void(const Segment&)>;

}  // namespace stepscope
