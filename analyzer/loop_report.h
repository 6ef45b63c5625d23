// From what attribution said of a loop to what is told about it: its steps, the figures over them,
// and the verdict; of one of its devices or of its thread.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/device/device_facts.h"
#include "analyzer/samples/counters.h"

namespace stepscope {

// What a loop's steps are told by: one of the loop's devices, or its thread.
struct Viewpoint {
  DeviceId device = DeviceId::kNone;  // kNone: the thread
  std::size_t index = 0;              // in AttributedLoop::devices
};

// Each device of the loop; of a loop without one, its thread.
std::vector<Viewpoint> viewpoints_of(const AttributedLoop& loop);

// Whether AnalyzeOptions::steps holds a step of the loop.
bool is_asked_for(const AnalyzeOptions& options, const Loop& loop, std::size_t step);

// An op recording that was switched on or off inside a step holds a part of it only. Such a step
// stands at an edge of a stretch of recorded steps and has far fewer ops than the others there.
void drop_partial_edges(std::vector<AttributedStep>& steps);

// Everything but the advice. `analysed` is empty when no step was asked for.
LoopReport report_loop(const RecordedRun& recording, const Loop& loop,
                       const AttributedLoop& attributed, const DeviceUse& use, Viewpoint from,
                       std::size_t warm_up, const Counters& counters,
                       const AnalyzeOptions& options);

}  // namespace stepscope
