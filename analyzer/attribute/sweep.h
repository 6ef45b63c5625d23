// The sweep over one frame (a step, or a part of a very long one) of a loop thread: overlays the
// phases, the thread's own ops, those of its autograd threads and of the threads that run
// collectives, and emits the segments. These are the rules of attribution on a host;
// docs/attribution.md describes them in prose.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analyzer/attribute/op_run.h"
#include "analyzer/attribute/segment.h"
#include "analyzer/attribute/span.h"

namespace stepscope {

struct Frame {
  TimeRange range;
  std::span<const Span> spans;              // tile a range that contains `range`
  bool ops_recorded = false;                // false: attribution rests on the phases alone
  std::span<const OpRun> own;               // the loop thread
  std::span<const OpRun> autograd;          // other threads, merged: their ops of backward passes
  std::span<const OpRun> collectives = {};  // the same: their collectives
};

// What is known about an instant.
struct Instant {
  const Span* span = nullptr;  // always set
  const OpRun* own = nullptr;  // null: nothing open
  const OpRun* autograd = nullptr;
  const OpRun* collective = nullptr;
  bool ops_recorded = false;
  bool forward_begun = false;
  bool after_collective = false;  // the last op of the loop thread was a collective's call
};

// Whether a run is an op that does work; a user's range without ops does none.
inline bool works(const OpRun* run) { return run != nullptr && run->op != StringId::kNone; }

// Which other thread the loop thread waits for while it has nothing of its own to do.
enum class Helper : std::uint8_t { kNone, kAutograd, kCollective };
Helper waits_for(const Instant& instant);

// Each instant has exactly one category, the first that applies: input > the loop thread's own op
// (communication, launch, compute) > in a backward pass, an autograd thread's op > in a backward
// pass or after the call of a collective, a collective that is still running > labelled scope >
// host. `range` of the result is left empty.
Segment categorise(const Instant& instant);

// What a frame passes on to the next one, since it may end in the middle of a forward pass.
struct SweepState {
  bool forward_begun = false;
  bool after_collective = false;
};

// Visits each stretch of the frame in which nothing changes, in order of time.
void for_each_instant(const Frame& frame, SweepState& state,
                      const std::function<void(const Instant&, TimeRange)>& visit);

// for_each_instant(), categorised.
void sweep(const Frame& frame, SweepState& state, const SegmentSink& sink);

// Observes the sweep of some steps.
class FrameObserver {
 public:
  virtual ~FrameObserver() = default;
  // Called before each frame of a step. Returns where to store the paths of the ops in this step;
  // null: the step is not wanted, and on_frame() will not be called. `ops_recorded`: as in Frame.
  virtual OpPaths* paths_for(std::size_t step, bool ops_recorded) = 0;
  // The frames of a step come in order and tile it; steps come in order.
  virtual void on_frame(std::size_t step, const Frame& frame) = 0;
};

// Merges the runs of several threads, each in order. Where several threads are in an op, the one
// that comes first in `threads` counts.
std::vector<OpRun> merge_runs(const std::vector<std::vector<OpRun>>& threads);

}  // namespace stepscope
