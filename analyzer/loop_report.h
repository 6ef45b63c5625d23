// From the attribution of a loop to its report: the steps, the figures over them, and the verdict,
// from the viewpoint of one of its devices or of its thread.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/analyze.h"
#include "analyzer/attribute/attribute.h"
#include "analyzer/counters/counters.h"
#include "analyzer/device/device_facts.h"
#include "analyzer/lines/native_code.h"
#include "analyzer/starved/schedule.h"

namespace stepscope {

// The viewpoint of a report: one of the loop's devices, or its thread.
struct Viewpoint {
  DeviceId device = DeviceId::kNone;  // kNone: the thread
  std::size_t index = 0;              // in AttributedLoop::devices
};

// Each device of the loop, or its thread if it has none.
std::vector<Viewpoint> viewpoints_of(const AttributedLoop& loop);

// Whether AnalyzeOptions::steps includes this step of the loop.
bool is_asked_for(const AnalyzeOptions& options, const Loop& loop, std::size_t step);

// Op recording that was switched on or off within a step covers only a part of it. Such a step is
// at an edge of a stretch of recorded steps and has far fewer ops than the others there.
void drop_partial_edges(std::vector<AttributedStep>& steps);

// What the report of a loop is made from.
struct LoopFacts {
  const RecordedRun& recording;
  const Loop& loop;
  const AttributedLoop& attributed;
  std::size_t warm_up;  // number of warm-up steps at the start of the loop
  const DeviceUse& use;
  const Counters& counters;
  const Schedule& schedule;
  const NativeSamples& native;
};

// Everything except lines, modules and advice. `analysed` is empty when no step was requested.
LoopReport report_loop(const LoopFacts& facts, Viewpoint from, const AnalyzeOptions& options);

}  // namespace stepscope
