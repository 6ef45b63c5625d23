#include "analyzer/steps/find_loops.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/steps/accumulation.h"
#include "analyzer/steps/sampler_marks.h"
#include "analyzer/steps/segment_ranges.h"

namespace stepscope {
namespace {

bool is_training(const Phase& phase) {
  return phase.kind == PhaseKind::kBackward || phase.kind == PhaseKind::kOptimizer;
}

bool any_training(const std::vector<Phase>& phases) {
  return std::any_of(phases.begin(), phases.end(), is_training);
}

bool has(const std::vector<Phase>& phases, PhaseKind kind) {
  return std::any_of(phases.begin(), phases.end(),
                     [kind](const Phase& p) { return p.kind == kind; });
}

bool training_between(const std::vector<Phase>& phases, SessionTime from,
                      std::optional<SessionTime> to) {
  const auto first = std::lower_bound(phases.begin(), phases.end(), from,
                                      [](const Phase& p, SessionTime t) { return p.start < t; });
  for (auto it = first; it != phases.end() && (!to || it->start < *to); ++it) {
    if (is_training(*it)) return true;
  }
  return false;
}

bool trained_after(const std::vector<Phase>& phases, const std::vector<Phase>& waits,
                   std::size_t which) {
  const bool is_last = which + 1 == waits.size();
  return training_between(phases, end_of(waits[which]),
                          is_last ? std::nullopt : std::optional(waits[which + 1].start));
}

// Whether each batch is trained on after the next one was fetched, as in trainers that must know
// which batch is the last. Then the first wait of an epoch is followed by another, not by training.
bool fetches_ahead(const std::vector<Phase>& phases, const std::vector<Phase>& waits) {
  bool untrained = false;  // so far, each wait of this epoch was followed by another
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const bool begins_epoch = i == 0 || waits[i - 1].kind == PhaseKind::kInputEnd;
    if (waits[i].kind != PhaseKind::kInput) continue;
    const bool trained = trained_after(phases, waits, i);
    if (trained && untrained && !begins_epoch) return true;
    untrained = !trained && (begins_epoch || untrained);
  }
  return false;
}

// Whether the loop captures its first step as a CUDA graph and replays it for all other batches:
// PyTorch runs no backward pass and no optimizer step then. An evaluation begins with a loader of
// its own, after that of the training has ended.
bool replays_its_first_step(const std::vector<Phase>& phases, const std::vector<Phase>& waits) {
  constexpr std::size_t kMinReplays = 10;
  if (waits.size() <= kMinReplays || !trained_after(phases, waits, 0)) return false;
  const bool ends = std::any_of(phases.begin(), phases.end(), [&](const Phase& phase) {
    return phase.kind == PhaseKind::kInputEnd && phase.start < waits[kMinReplays].start;
  });
  return !ends && !training_between(phases, waits[1].start, std::nullopt);
}

std::vector<TimeRange> tile(const std::vector<SessionTime>& edges) {
  std::vector<TimeRange> steps;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    if (edges[i - 1] < edges[i]) steps.push_back({edges[i - 1], edges[i]});
  }
  return steps;
}

// The first thing on the thread that belongs to a loop. A scope does not: it may wrap the program.
std::optional<SessionTime> first_loop_phase(const std::vector<Phase>& phases) {
  for (const Phase& phase : phases) {
    if (phase.kind != PhaseKind::kScope && phase.kind != PhaseKind::kStep) return phase.start;
  }
  return std::nullopt;
}

// A mark with a duration covers its step; a mark without one only ends it.
SessionTime first_user_step(const std::vector<Phase>& phases, const Phase& mark) {
  if (mark.dur.count() > 0) return mark.start;
  const SessionTime begin = first_loop_phase(phases).value_or(session_time(0));
  return begin < mark.start ? begin : session_time(0);
}

// Whether many optimizer steps train on batches that no loader delivered just before: they come
// from a list that was filled once, or a loader delivers only some of them.
bool has_own_batches(const std::vector<TimeRange>& steps, const std::vector<Phase>& waits) {
  constexpr std::size_t kMostOfABatch = 8, kMany = 8;  // steps; one in this many
  std::size_t since = 0, far = 0;
  auto wait = waits.begin();
  for (const TimeRange step : steps) {
    const auto next =
        std::find_if(wait, waits.end(), [step](const Phase& one) { return one.start >= step.end; });
    since = next == wait ? since + 1 : 1;
    far += since > kMostOfABatch ? 1 : 0;
    wait = next;
  }
  return far * kMany > steps.size();
}

void find_optimizer_steps(const std::vector<Phase>& phases, Loop& loop) {
  loop.marker = runs_closures(phases) ? StepMarker::kClosure : StepMarker::kOptimizer;
  loop.steps = optimizer_steps(phases);
}

void find_steps(const std::vector<Phase>& phases, Loop& loop) {
  const std::vector<Phase> waits = waits_of_steps(phases);
  loop.marker = StepMarker::kUser;
  loop.steps = user_steps(phases);
  if (loop.steps.empty() && !waits.empty()) {
    find_optimizer_steps(phases, loop);
    loop.own_batches = has_own_batches(loop.steps, waits);
    if (!loop.own_batches) loop.steps.clear();
  }
  if (loop.steps.empty()) {
    loop.marker = StepMarker::kOptimizer;
    loop.steps = accumulated_steps(phases, waits);
  }
  if (loop.steps.empty()) {
    loop.marker = StepMarker::kLoader;
    loop.replays = replays_its_first_step(phases, waits);
    loop.steps = loader_steps(phases, waits, loop.trains && !loop.replays);
  }
  if (loop.steps.empty()) {
    find_optimizer_steps(phases, loop);
  }
  if (loop.steps.empty()) {
    loop.marker = StepMarker::kInferred;
    loop.by_sampler = true;
    loop.steps = sampler_steps(phases);
  }
}

std::map<ThreadId, std::vector<Phase>> by_thread(const std::vector<Phase>& phases) {
  std::map<ThreadId, std::vector<Phase>> result;
  for (const Phase& phase : phases) result[phase.thread].push_back(phase);
  return result;
}

// A thread that marks steps or trains. In a process that has one, a thread that only waits for a
// loader is feeding it (a prefetcher), and is no loop of its own.
bool leads(const std::vector<Phase>& phases) {
  return any_training(phases) || has(phases, PhaseKind::kStep);
}

}  // namespace

std::vector<Phase> phases_of(const RecordedRun& recording, const Loop& loop) {
  const std::vector<Phase> marked = phases_of(recording, loop.thread);
  std::vector<Phase> all;
  std::merge(marked.begin(), marked.end(), loop.input.pieces.begin(), loop.input.pieces.end(),
             std::back_inserter(all), [](const Phase& a, const Phase& b) {
               return a.start != b.start ? a.start < b.start : a.dur > b.dur;
             });
  const auto is_in_segment = [&](const Phase& phase) {
    return phase.kind != PhaseKind::kStep && in_segment(phase.start, loop.segments);
  };
  if (!loop.segments.empty()) std::erase_if(all, is_in_segment);
  return all;
}

std::vector<Phase> outermost(const std::vector<Phase>& phases, PhaseKind kind, PhaseKind or_kind) {
  std::vector<Phase> result;
  for (const Phase& phase : phases) {
    if (phase.kind != kind && phase.kind != or_kind) continue;
    if (!result.empty() && phase.start < end_of(result.back())) continue;
    result.push_back(phase);
  }
  return result;
}

// In a loop that fetches ahead, the wait that finds the loader exhausted begins the last step: the
// last batch was fetched before it, and is still to be trained on.
std::vector<Phase> waits_of_steps(const std::vector<Phase>& phases) {
  const auto all = outermost(phases, PhaseKind::kInput, PhaseKind::kInputEnd);
  return fetches_ahead(phases, all) ? all : outermost(phases, PhaseKind::kInput);
}

// In a loop that waits between forward and backward pass, hardly anything is left to do between the
// wait and the backward pass.
bool waits_before_backward(const std::vector<Phase>& phases) {
  // Times as long as what is left.
  constexpr std::int64_t kMinBackwardRatio = 20, kMinForwardRatio = 8;
  std::size_t waits = 0, matching = 0;
  const Phase* before = nullptr;
  const Phase* wait = nullptr;
  Duration forward{0};
  for (const Phase& phase : phases) {
    if (phase.kind == PhaseKind::kScope || phase.kind == PhaseKind::kStep) continue;
    if (phase.kind == PhaseKind::kBackward && wait != nullptr) {
      const Duration left = phase.start - end_of(*wait);
      ++waits;
      if (left * kMinBackwardRatio < phase.dur && left * kMinForwardRatio < forward) ++matching;
    }
    wait = phase.kind == PhaseKind::kInput ? &phase : nullptr;
    if (wait != nullptr && before != nullptr) forward = wait->start - end_of(*before);
    before = &phase;
  }
  return waits > 0 && matching * 10 >= waits * 9;
}

std::vector<TimeRange> user_steps(const std::vector<Phase>& phases) {
  const auto marks = outermost(phases, PhaseKind::kStep);
  if (marks.empty()) return {};
  std::vector<SessionTime> edges{first_user_step(phases, marks.front())};
  for (const Phase& mark : marks) edges.push_back(end_of(mark));
  return tile(edges);
}

std::int64_t first_number(const std::vector<Phase>& phases,
                          const std::function<std::string_view(StringId)>& text) {
  const auto mark = std::find_if(phases.begin(), phases.end(),
                                 [](const Phase& p) { return p.kind == PhaseKind::kStep; });
  if (mark == phases.end()) return 1;
  const std::string_view name = text(mark->name);
  const std::size_t hash = name.rfind('#');
  if (hash == std::string_view::npos) return 1;
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + hash + 1, end, number);
  return error == std::errc() && rest == end && number >= 0 ? number : 1;
}

std::vector<TimeRange> loader_steps(const std::vector<Phase>& phases,
                                    const std::vector<Phase>& waits, bool trains) {
  std::vector<SessionTime> edges;
  const Phase* last = nullptr;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    // A batch that was not trained on (an evaluation between epochs) begins no step of a training
    // loop.
    if (trains && !trained_after(phases, waits, i)) continue;
    edges.push_back(waits[i].start);
    last = &waits[i];
  }
  if (last == nullptr) return {};
  edges.push_back(end_of_last_step(phases, *last, trains));
  return tile(edges);
}

// In a training loop, an exhausted wait before the training is that of a trainer that fetches
// ahead, and one with another name that of an evaluation.
SessionTime end_of_last_step(const std::vector<Phase>& phases, const Phase& wait, bool trains) {
  SessionTime end = wait.start;
  bool trained = false;
  for (const Phase& phase : phases) {
    if (phase.start < end_of(wait)) continue;
    const bool asks_again =
        !trains || (trained && wait.kind == PhaseKind::kInput && phase.name == wait.name);
    if (phase.kind == PhaseKind::kInputEnd && asks_again) end = std::max(end, phase.start);
    if (phase.kind == PhaseKind::kInputEnd || phase.kind == PhaseKind::kInput) break;
    trained = trained || is_training(phase);
    end = std::max(end, end_of(phase));
  }
  return end;
}

std::vector<TimeRange> optimizer_steps(const std::vector<Phase>& phases) {
  const auto optimizers = outermost(phases, PhaseKind::kOptimizer);
  if (optimizers.empty()) return {};
  std::set<SessionTime> backwards;
  for (const Phase& phase : phases) {
    if (phase.kind == PhaseKind::kBackward) backwards.insert(phase.start);
  }
  std::vector<SessionTime> edges{*first_loop_phase(phases)};
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    // Several optimizers after one backward pass are one step: the last of them ends it.
    if (!backwards.empty() && i + 1 < optimizers.size()) {
      const auto backward = backwards.lower_bound(end_of(optimizers[i]));
      if (backward == backwards.end() || *backward >= end_of(optimizers[i + 1])) continue;
    }
    edges.push_back(end_of(optimizers[i]));
  }
  return tile(edges);
}

bool runs_closures(const std::vector<Phase>& phases) {
  const auto optimizers = outermost(phases, PhaseKind::kOptimizer);
  std::size_t closures = 0;
  for (const Phase& optimizer : optimizers) {
    auto inside = std::partition_point(phases.begin(), phases.end(),
                                       [&](const Phase& p) { return p.start < optimizer.start; });
    while (inside != phases.end() && inside->start < end_of(optimizer) &&
           inside->kind != PhaseKind::kBackward)
      ++inside;
    closures += inside != phases.end() && inside->start < end_of(optimizer) ? 1U : 0U;
  }
  return closures * 2 > optimizers.size();
}

std::vector<Loop> find_loops(const std::vector<Phase>& phases,
                             const std::vector<StoredThread>& threads) {
  std::map<ThreadId, ProcessId> process_of;
  for (const StoredThread& thread : threads) process_of[thread.id] = thread.process;
  const auto phases_by_thread = by_thread(phases);
  std::set<ProcessId> led;
  for (const auto& [thread, own] : phases_by_thread) {
    if (leads(own)) led.insert(process_of[thread]);
  }

  std::vector<Loop> loops;
  for (const auto& [thread, own] : phases_by_thread) {
    Loop loop;
    loop.thread = thread;
    loop.process = process_of[thread];
    loop.trains = any_training(own);
    if (led.contains(loop.process) && !leads(own)) continue;
    find_steps(own, loop);
    loop.batches_per_step = batches_per_step(own, loop);
    if (!loop.steps.empty()) loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace stepscope
