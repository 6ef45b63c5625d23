// The loops of a run, as a report shows them: one for each verdict, in the order of the
// analysis document's "loops".
#pragma once

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "store/analysis.h"
#include "store/trace_reader.h"

namespace stepscope {

struct ReportLoop {
  ThreadId thread = ThreadId::kNone;
  ProcessId process = ProcessId::kNone;
  DeviceId device = DeviceId::kNone;         // kNone: seen from the host
  std::vector<const Step*> steps;            // of the thread, in order
  std::vector<const Step*> analysed;         // those that the verdict rests on
  std::vector<const LoopSegment*> segments;  // of the thread, in order
};

// The entry of `device` in the step; null if there is none.
const StepKind* kind_of(const Step& step, DeviceId device);

std::vector<ReportLoop> report_loops(const TraceReader& reader, const Analysis& analysis);

// Each step's time, by category, in columns; with more than `most` steps, the means of neighbours.
nlohmann::ordered_json steps_json(const ReportLoop& loop, std::size_t most);

// What the loop did besides its steps, in columns; with more than `most` segments, the longest.
nlohmann::ordered_json segments_json(const ReportLoop& loop, std::size_t most);

// When a process was in its analysed steps: decides whether the report counts an event.
class AnalysedTime {
 public:
  // `loops` must outlive this.
  AnalysedTime(const TraceReader& reader, const std::vector<ReportLoop>& loops);
  [[nodiscard]] bool holds(ThreadId thread, SessionTime time) const;
  [[nodiscard]] bool holds(ProcessId process, SessionTime time) const;
  [[nodiscard]] ProcessId process_of(ThreadId thread) const;

 private:
  std::unordered_map<ThreadId, ProcessId> process_of_;
  std::unordered_map<ProcessId, std::vector<TimeRange>> time_;  // in order, apart from one another
};

}  // namespace stepscope
