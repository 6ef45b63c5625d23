#include "analyzer/attribute/host_state.h"

#include "analyzer/attribute/cursor.h"
#include "analyzer/attribute/nesting.h"

namespace stepscope {
namespace {

struct CallRun {
  TimeRange range;
  CallClass kind = CallClass::kLaunch;
};

// Driver calls lie in runtime calls; the inner one is more specific.
std::vector<CallRun> flatten_calls(std::span<const HostCall> calls, TimeRange frame) {
  std::vector<CallRun> runs;
  Innermost innermost;
  for_each_nested_stretch(
      calls, frame, [](const HostCall& call) { return call.range(); },
      [&](std::size_t call, const OpenItems&) { innermost.add(call); },
      [&](TimeRange range, const OpenItems& open) {
        runs.push_back({range, calls[innermost.of(open)].kind});
      });
  return runs;
}

Category category_of(CallClass kind) {
  switch (kind) {
    case CallClass::kSync:
      return Category::kSync;
    case CallClass::kAllocation:
      return Category::kAllocation;
    case CallClass::kLaunch:
      break;
  }
  return Category::kLaunch;
}

// With a device, the host time of ops is launching.
Category without_compute(Category category) {
  return category == Category::kCompute ? Category::kLaunch : category;
}

void append(std::vector<HostState>& states, const HostState& state) {
  if (!states.empty()) {
    HostState& last = states.back();
    if (last.range.end == state.range.start && last.category == state.category &&
        last.phase == state.phase && last.label == state.label) {
      last.range.end = state.range.end;
      return;
    }
  }
  states.push_back(state);
}

}  // namespace

std::vector<HostState> loop_states(std::span<const Segment> segments,
                                   std::span<const HostCall> calls) {
  std::vector<HostState> states;
  if (segments.empty()) return states;
  const auto call_runs =
      flatten_calls(calls, {segments.front().range.start, segments.back().range.end});
  Cursor<CallRun> call_cursor{std::span<const CallRun>(call_runs)};
  for (const Segment& segment : segments) {
    for (SessionTime now = segment.range.start; now < segment.range.end;) {
      SessionTime next = segment.range.end;
      const CallRun* const call = call_cursor.at(now, next);
      HostState state{{now, next}, without_compute(segment.category), segment.phase, segment.label};
      if (call != nullptr && segment.category != Category::kInput) {
        state.category = category_of(call->kind);
        state.label = StringId::kNone;
      }
      append(states, state);
      now = next;
    }
  }
  return states;
}

std::vector<HostState> thread_states(std::span<const HostState> loop, std::span<const OpRun> runs,
                                     std::span<const HostCall> calls) {
  std::vector<HostState> states;
  if (loop.empty()) return states;
  const TimeRange frame{loop.front().range.start, loop.back().range.end};
  const auto call_runs = flatten_calls(calls, frame);
  Cursor<CallRun> call_cursor{std::span<const CallRun>(call_runs)};
  Cursor<OpRun> run_cursor(runs);
  for (const HostState& inherited : loop) {
    for (SessionTime now = inherited.range.start; now < inherited.range.end;) {
      SessionTime next = inherited.range.end;
      const CallRun* const call = call_cursor.at(now, next);
      const OpRun* const run = run_cursor.at(now, next);
      HostState state = inherited;
      state.range = {now, next};
      if (call != nullptr || run != nullptr) {
        const bool works = call != nullptr || run->op != StringId::kNone;
        state.label = works ? StringId::kNone : run->label;
        state.category = call != nullptr ? category_of(call->kind)
                         : works         ? Category::kLaunch
                                         : Category::kOther;
        if (state.phase == PhaseKind::kInput) state.phase = PhaseKind::kNone;  // not its own
      }
      append(states, state);
      now = next;
    }
  }
  return states;
}

}  // namespace stepscope
