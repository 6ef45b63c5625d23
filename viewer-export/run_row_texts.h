// What the slices above the threads of a trace say and show: names, colours, arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/analysis.h"
#include "store/events.h"
#include "viewer-export/event_writer.h"

namespace stepscope {

inline TimeRange range_of(const Step& step) { return {step.start, step.end()}; }
inline TimeRange range_of(const LoopSegment& segment) {
  return {segment.start, segment.start + segment.dur};
}
inline TimeRange range_of(const Phase& phase) { return {phase.start, phase.start + phase.dur}; }

// How long the loop waited for input in a step, as seen by the device that waited longest.
Duration longest_input(const Step& step);

Annotation step_annotation(const Step& step);
Annotation segment_annotation(const LoopSegment& segment);
Annotation phase_annotation(const Phase& phase, std::string_view name_of_phase);
Annotation verdict_annotation(const Verdict& verdict, const TimeRange& range);
Annotation loss_annotation(const std::vector<Loss>& losses, const TimeRange& range);

// {"op":12,"phase":3}: lost events by kind.
std::string losses_json(const std::vector<Loss>& losses);
// "HIGHLY INPUT-BOUND · 43.4 % of the step waits for input."
std::string headline(const Verdict& verdict);
// The full text of a verdict.
std::string verdict_json(const Verdict& verdict);

}  // namespace stepscope
