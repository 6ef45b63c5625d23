// Finds the steps of each training loop from its phases alone.
//
// Order of trust (docs/attribution.md, "Steps"): a user's step() marks > waits for the loader >
// optimizer steps (> optimizer steps that run a closure) > the marks of a torch::data sampler.
// Steps from a sampler's marks count as inferred, as do those of infer_steps(), which applies where
// there are no marks at all. The steps of a loop tile its wall time: each begins where the previous
// one ended, so the time between two epochs belongs to a step.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analyzer/recording.h"
#include "store/analysis.h"
#include "store/events.h"
#include "store/trace_reader.h"

namespace stepscope {

// Unmarked waits for input.
struct InferredInput {
  std::vector<Phase> pieces;        // of kind kInput, in order; the time between them is not input
  std::vector<SessionTime> begins;  // of the waits, each of which has one or more pieces
  bool by_fetches = false;  // each wait begins where a sampler's mark says that a fetch does
};

struct Loop {
  ThreadId thread = ThreadId::kNone;
  ProcessId process = ProcessId::kNone;
  StepMarker marker = StepMarker::kInferred;
  bool by_sampler = false;        // marker is kInferred, from a sampler's marks
  bool trains = false;            // a backward pass or an optimizer step was seen on this thread
  bool own_batches = false;       // many steps train on batches that no loader delivered
  bool replays = false;           // the first step is a CUDA graph that the others replay
  std::int64_t first_number = 1;  // of steps.front()
  std::int64_t batches_per_step = 0;  // batches_per_step()
  std::vector<TimeRange> steps;  // in order, each begins where the one before ended; never empty
  InferredInput input;           // if no loader was seen: infer_input()
  std::vector<LoopSegment> segments;  // find_segments(); in order
};

// The phases of the loop's thread that are not part of a segment, in order, and what was inferred.
std::vector<Phase> phases_of(const RecordedRun& recording, const Loop& loop);

// `phases`: all of the run, by thread and then start. One loop for each thread that has steps, in
// the order of the threads.
std::vector<Loop> find_loops(const std::vector<Phase>& phases,
                             const std::vector<StoredThread>& threads);

// The rules, one per marker. `phases` are those of one thread, by start; each may return no steps.
std::vector<TimeRange> user_steps(const std::vector<Phase>& phases);
// `waits`: waits_of_steps(); `trains`: only those that are trained on begin a step.
std::vector<TimeRange> loader_steps(const std::vector<Phase>& phases,
                                    const std::vector<Phase>& waits, bool trains);
// The phases of one or two kinds that lie in no other such phase, by start: a loader that wraps a
// loader waits once.
std::vector<Phase> outermost(const std::vector<Phase>& phases, PhaseKind kind,
                             PhaseKind or_kind = PhaseKind::kNone);
// The end of the step that begins with the last wait of a loader: where the loop asks the loader
// again and finds it exhausted. If it never does, the end of the last thing that was marked in the
// step, because anything after the loop is not part of it. Not before the start of `wait`.
SessionTime end_of_last_step(const std::vector<Phase>& phases, const Phase& wait, bool trains);
// The waits for a loader that may begin a step, by start.
std::vector<Phase> waits_of_steps(const std::vector<Phase>& phases);
// Whether the loop waits for the next batch between the forward and the backward pass of the
// current one.
bool waits_before_backward(const std::vector<Phase>& phases);
std::vector<TimeRange> optimizer_steps(const std::vector<Phase>& phases);

// The number of the first of user_steps(): 5 when its mark has a name that ends with "#5", else 1.
std::int64_t first_number(const std::vector<Phase>& phases,
                          const std::function<std::string_view(StringId)>& text);

// True when most optimizer steps ran their backward pass inside themselves (such as LBFGS).
bool runs_closures(const std::vector<Phase>& phases);

inline SessionTime end_of(const Phase& phase) { return phase.start + phase.dur; }

}  // namespace stepscope
