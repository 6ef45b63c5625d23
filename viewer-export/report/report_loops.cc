#include "viewer-export/report/report_loops.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "store/merge_ranges.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;
using CategoryTimes = std::array<std::int64_t, kCategoryCount>;

CategoryTimes times_of(const Step& step, DeviceId device) {
  CategoryTimes sums{};
  for (const StepTime& time : step.times) {
    if (time.device == device) sums[static_cast<std::size_t>(time.category)] += to_ns(time.exposed);
  }
  return sums;
}

std::int64_t number_of(std::vector<std::string>& names, const std::string& name) {
  const auto known = std::find(names.begin(), names.end(), name);
  if (known != names.end()) return known - names.begin();
  names.push_back(name);
  return static_cast<std::int64_t>(names.size()) - 1;
}

// The columns of the page's data; one entry per step, or per group of neighbours.
struct StepColumns {
  std::vector<std::int64_t> number, gap, dur, kind, population;
  std::array<std::vector<std::int64_t>, kCategoryCount> times;
  std::vector<std::string> kinds;

  void add(const std::vector<const Step*>& steps, std::size_t first, std::size_t count,
           DeviceId device) {
    const Step& head = *steps[first];
    CategoryTimes sums{};
    std::int64_t total = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      const CategoryTimes one = times_of(*steps[i], device);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += one[c];
      total += to_ns(steps[i]->dur);
    }
    const auto divisor = static_cast<std::int64_t>(count);
    number.push_back(head.number);
    gap.push_back(to_ns(head.start - expected));
    expected = head.start + Duration(total / divisor * divisor);  // as the page adds them up
    dur.push_back(total / divisor);
    for (std::size_t c = 0; c < sums.size(); ++c) times[c].push_back(sums[c] / divisor);
    const StepKind* const own = kind_of(head, device);
    kind.push_back(own == nullptr ? -1 : number_of(kinds, own->kind));
    population.push_back(own == nullptr ? 0 : own->population);
  }
  SessionTime expected = session_time(0);
};

std::vector<const LoopSegment*> longest(std::vector<const LoopSegment*> segments,
                                        std::size_t most) {
  if (segments.size() <= most) return segments;
  const auto end = segments.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(segments.begin(), end, segments.end(),
                   [](const auto* a, const auto* b) { return a->dur > b->dur; });
  segments.erase(end, segments.end());
  std::sort(segments.begin(), segments.end(),
            [](const auto* a, const auto* b) { return a->start < b->start; });
  return segments;
}

}  // namespace

const StepKind* kind_of(const Step& step, DeviceId device) {
  for (const StepKind& kind : step.kinds) {
    if (kind.device == device) return &kind;
  }
  return nullptr;
}

std::vector<ReportLoop> report_loops(const TraceReader& reader, const Analysis& analysis) {
  std::map<ThreadId, ProcessId> process_of;
  for (const StoredThread& thread : reader.threads()) process_of[thread.id] = thread.process;
  std::map<ThreadId, std::vector<const Step*>> steps_of;
  for (const Step& step : analysis.steps) steps_of[step.thread].push_back(&step);
  std::vector<ReportLoop> loops;
  for (const Verdict& verdict : analysis.verdicts) {
    if (verdict.thread == ThreadId::kNone) continue;
    ReportLoop& loop = loops.emplace_back();
    loop.thread = verdict.thread;
    loop.process = process_of[verdict.thread];
    loop.device = verdict.device;
    loop.steps = steps_of[verdict.thread];
    for (const LoopSegment& segment : analysis.segments) {
      if (segment.thread == verdict.thread) loop.segments.push_back(&segment);
    }
    for (const Step* step : loop.steps) {
      const StepKind* const kind = kind_of(*step, loop.device);
      if (kind != nullptr && kind->population > 0) loop.analysed.push_back(step);
    }
  }
  return loops;
}

Json steps_json(const ReportLoop& loop, std::size_t most) {
  const std::size_t count = loop.steps.size();
  const std::size_t group = most > 0 ? (count + most - 1) / most : count;
  StepColumns columns;
  for (std::size_t i = 0; i < count; i += std::max<std::size_t>(group, 1)) {
    columns.add(loop.steps, i, std::min(std::max<std::size_t>(group, 1), count - i), loop.device);
  }
  Json times = Json::object();
  for (int c = 0; c < kCategoryCount; ++c) {
    const auto& column = columns.times[static_cast<std::size_t>(c)];
    const bool any = std::any_of(column.begin(), column.end(), [](auto ns) { return ns != 0; });
    if (any) times[category_name(static_cast<Category>(c))] = column;
  }
  return {{"group", std::max<std::size_t>(group, 1)},
          {"number", columns.number},
          {"gap_ns", columns.gap},
          {"wall_ns", columns.dur},
          {"times", times},
          {"kinds", columns.kinds},
          {"kind", columns.kind},
          {"population", columns.population}};
}

Json segments_json(const ReportLoop& loop, std::size_t most) {
  Json json = {{"kind", Json::array()},
               {"step", Json::array()},
               {"start_ns", Json::array()},
               {"dur_ns", Json::array()}};
  for (const LoopSegment* segment : longest(loop.segments, most)) {
    json["kind"].push_back(segment_name(segment->kind));
    json["step"].push_back(segment->step);
    json["start_ns"].push_back(to_ns(segment->start));
    json["dur_ns"].push_back(to_ns(segment->dur));
  }
  return json;
}

AnalysedTime::AnalysedTime(const TraceReader& reader, const std::vector<ReportLoop>& loops) {
  for (const StoredThread& thread : reader.threads()) process_of_[thread.id] = thread.process;
  for (const ReportLoop& loop : loops) {
    for (const Step* step : loop.analysed) {
      time_[loop.process].push_back({step->start, step->end()});
    }
  }
  for (auto& [process, ranges] : time_) ranges = merge_ranges(std::move(ranges));
}

ProcessId AnalysedTime::process_of(ThreadId thread) const {
  const auto known = process_of_.find(thread);
  return known == process_of_.end() ? ProcessId::kNone : known->second;
}

bool AnalysedTime::holds(ThreadId thread, SessionTime time) const {
  return holds(process_of(thread), time);
}

bool AnalysedTime::holds(ProcessId process, SessionTime time) const {
  const auto known = time_.find(process);
  if (known == time_.end()) return false;
  const auto& ranges = known->second;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), time,
                       [](SessionTime t, const TimeRange& range) { return t < range.start; });
  return after != ranges.begin() && std::prev(after)->contains(time);
}

}  // namespace stepscope
