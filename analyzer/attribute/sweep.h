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
  std::span<const OpRun> collectives = {};  // the same, of their collectives
};

// What is known of an instant.
struct Instant {
  const Span* span = nullptr;  // never null
  const OpRun* own = nullptr;  // null: nothing open
  const OpRun* autograd = nullptr;
  const OpRun* collective = nullptr;
  bool ops_recorded = false;
  bool forward_begun = false;
  bool after_collective = false;  // the last op of the loop thread was a collective's call
};

// Each instant has exactly one category. First that applies: input > the loop thread's own op
// (communication, launch, compute) > in a backward pass, an autograd thread's op > in a backward
// pass or after the call of a collective, a collective that is still running > labelled scope >
// host. `range` of the result is left empty.
Segment categorise(const Instant& instant);

// What a frame leaves to the next one, since it may end anywhere.
struct SweepState {
  bool forward_begun = false;
  bool after_collective = false;
};

void sweep(const Frame& frame, SweepState& state, const SegmentSink& sink);

// Several threads' runs as one: at each instant the first thread that was in an op. Each is in
// order.
std::vector<OpRun> merge_runs(const std::vector<std::vector<OpRun>>& threads);

}  // namespace stepscope
