// The sweep over one frame (a step, or a part of a very long one) of a loop thread: lays what the
// phases, the thread's own ops and the ops of its autograd threads say over one another, and hands
// out the segments. This is the rule book of attribution on a host; docs/attribution.md tells it in
// prose.
#pragma once

#include <span>
#include <vector>

#include "analyzer/attribute/op_run.h"
#include "analyzer/attribute/segment.h"
#include "analyzer/attribute/span.h"

namespace stepscope {

struct Frame {
  TimeRange range;
  std::span<const Span> spans;      // tile a range around `range`
  bool ops_recorded = false;        // false: the phases stand for the ops
  std::span<const OpRun> own;       // the loop thread
  std::span<const OpRun> autograd;  // other threads, merged: what ran of their backward passes
};

// What is known of an instant.
struct Instant {
  const Span* span = nullptr;  // never null
  const OpRun* own = nullptr;  // null: nothing open
  const OpRun* autograd = nullptr;
  bool ops_recorded = false;
  bool forward_begun = false;
};

// Each instant has exactly one category. First that applies: input > the loop thread's own op
// (communication, launch, compute) > in a backward pass, an autograd thread's op > labelled scope >
// host. `range` of the result is left empty.
Segment categorise(const Instant& instant);

// Where the forward pass of a span has begun; carried from frame to frame, since a frame may end
// inside.
struct SweepState {
  bool forward_begun = false;
};

void sweep(const Frame& frame, SweepState& state, const SegmentSink& sink);

// Several threads' runs as one: at each instant the first thread that was in an op. Each is in
// order.
std::vector<OpRun> merge_runs(const std::vector<std::vector<OpRun>>& threads);

}  // namespace stepscope
