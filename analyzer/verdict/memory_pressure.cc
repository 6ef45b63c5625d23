#include "analyzer/verdict/memory_pressure.h"

#include <algorithm>
#include <string>

#include "store/counters.h"

namespace stepscope {
namespace {

using Readings = std::vector<CounterSeries::Reading>;

// The counter used, which is the machine's or that of the loop's process, and the time that one
// count stands for.
struct Source {
  const CounterSeries* series = nullptr;
  double ns_each = 0;
  bool is_pressure = false;  // the machine's pressure counter; otherwise the process's faults
};

Source source_of(const LoopReport& report, const Counters& counters) {
  if (const auto* psi = counters.find(ProcessId::kNone, counter::kPsiMemorySome))
    return {psi, 1e3, true};
  return {counters.find(report.process, counter::kMajorFaults), kMajorFaultNs, false};
}

TimeRange range_of(const LoopReport& report) {
  const Step& last = report.steps[report.analysed.back()];
  return {report.steps[report.analysed.front()].start, last.end()};
}

TimeRange range_of(const Step& step) { return {step.start, step.end()}; }

std::string from_counter_clause(const char* counter, ProcessId process, TimeRange range) {
  const std::string whose =
      process == ProcessId::kNone
          ? ""
          : " AND process_id = " + std::to_string(static_cast<std::uint32_t>(process));
  return std::string(" FROM counter WHERE counter = '") + counter + "'" + whose +
         " AND at_ns BETWEEN " + std::to_string(to_ns(range.start)) + " AND " +
         std::to_string(to_ns(range.end));
}

void add_stall_evidence(const Readings& readings, TimeRange range, MemoryPressure& memory) {
  const double share = 1e3 * (readings.back().value - readings.front().value) /
                       static_cast<double>(to_ns(readings.back().at - readings.front().at));
  memory.evidence.push_back(
      {EvidenceKind::kMemoryWaits, share, "ratio",
       "SELECT 1e3 * (max(value) - min(value)) / (max(at_ns) - min(at_ns))" +
           from_counter_clause(counter::kPsiMemorySome, ProcessId::kNone, range)});
}

void add_fault_evidence(const LoopReport& report, const Counters& counters, TimeRange range,
                        MemoryPressure& memory) {
  const CounterSeries* faults = counters.find(report.process, counter::kMajorFaults);
  if (faults == nullptr) return;
  const Readings readings = faults->within(range);
  if (readings.size() < 2) return;
  const double count = readings.back().value - readings.front().value;
  memory.evidence.push_back(
      {EvidenceKind::kPagesRead, count, "count",
       "SELECT max(value) - min(value)" +
           from_counter_clause(counter::kMajorFaults, report.process, range)});
}

void add_available_evidence(const Counters& counters, TimeRange range, MemoryPressure& memory) {
  const CounterSeries* available = counters.find(ProcessId::kNone, counter::kMemoryAvailable);
  if (available == nullptr) return;
  const Readings readings = available->within(range);
  if (readings.empty()) return;
  const auto least =
      std::min_element(readings.begin(), readings.end(),
                       [](const auto& a, const auto& b) { return a.value < b.value; });
  memory.evidence.push_back({EvidenceKind::kMemoryAvailable, least->value, "bytes",
                             "SELECT min(value)" + from_counter_clause(counter::kMemoryAvailable,
                                                                       ProcessId::kNone, range)});
}

}  // namespace

MemoryPressure measure_memory_pressure(const LoopReport& report, const Counters& counters) {
  MemoryPressure memory;
  const Source source = source_of(report, counters);
  if (source.series == nullptr) return memory;
  const TimeRange range = range_of(report);
  const Readings readings = source.series->within(range);
  if (readings.size() < 2) return memory;

  for (const Step& step : report.steps) {
    const double stall = source.series->change(range_of(step)) * source.ns_each;
    memory.stall_ns.push_back(std::clamp(stall, 0.0, static_cast<double>(to_ns(step.dur))));
  }
  double stalled = 0, total = 0;
  for (const std::size_t i : report.analysed) {
    stalled += memory.stall_ns[i];
    total += static_cast<double>(to_ns(report.steps[i].dur));
  }
  memory.share = total > 0 ? stalled / total : 0;
  if (source.is_pressure) add_stall_evidence(readings, range, memory);
  add_fault_evidence(report, counters, range, memory);
  add_available_evidence(counters, range, memory);
  return memory;
}

}  // namespace stepscope
