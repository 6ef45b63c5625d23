// Ops of one thread, flattened: which op was the innermost at each instant.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "analyzer/attribute/op_path.h"
#include "analyzer/ops/op_class.h"
#include "store/analysis.h"
#include "store/events.h"

namespace stepscope {

// What attribution keeps of an op: 24 bytes, since a step may hold very many.
struct BufferedOp {
  SessionTime start;
  Duration dur{0};
  StringId name = StringId::kNone;
  OpClass kind = OpClass::kWork;

  [[nodiscard]] TimeRange range() const { return {start, start + dur}; }
};

// Sorts by start, parents before children.
void sort_for_nesting(std::vector<BufferedOp>& ops);

// A stretch of one thread in which the same op was the innermost one and did the same thing.
struct OpRun {
  TimeRange range;
  StringId op = StringId::kNone;  // the innermost op that does work; kNone inside user ranges only
  StringId label = StringId::kNone;     // the innermost user range
  Category category = Category::kHost;  // kCompute, kLaunch or kCommunication; kHost without an op
  OpPath path = OpPath::kTop;           // of `op`, when flatten_ops() was given paths
};

// The runs of `frame` in order of time, with gaps where nothing was open. `ops` are sorted by
// sort_for_nesting(). For each working op, the first `overhead` of its self time is kLaunch, the
// rest kCompute (docs/attribution.md, "Launch"); an op that began before `frame` has spent its
// overhead already. `paths`: receives the path of each op; null: paths are not needed.
std::vector<OpRun> flatten_ops(std::span<const BufferedOp> ops, TimeRange frame, Duration overhead,
                               OpPaths* paths = nullptr);

}  // namespace stepscope
