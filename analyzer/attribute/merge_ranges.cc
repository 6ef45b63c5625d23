#include "analyzer/attribute/merge_ranges.h"

#include <algorithm>

namespace stepscope {

std::vector<Run> merge_ranges(std::vector<TimeRange> ranges) {
  const auto earlier = [](const TimeRange& a, const TimeRange& b) { return a.start < b.start; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), earlier))
    std::sort(ranges.begin(), ranges.end(), earlier);
  std::vector<Run> merged;
  for (const TimeRange& range : ranges) {
    if (range.end <= range.start) continue;
    if (!merged.empty() && range.start <= merged.back().range.end) {
      merged.back().range.end = std::max(merged.back().range.end, range.end);
    } else {
      merged.push_back({range});
    }
  }
  return merged;
}

Duration covered(std::span<const Run> runs, TimeRange span) {
  Duration sum{0};
  auto run = std::partition_point(runs.begin(), runs.end(),
                                  [&](const Run& r) { return r.range.end <= span.start; });
  for (; run != runs.end() && run->range.start < span.end; ++run) {
    sum += std::min(run->range.end, span.end) - std::max(run->range.start, span.start);
  }
  return sum;
}

}  // namespace stepscope
