#include "store/merge_ranges.h"

#include <algorithm>

namespace stepscope {

std::vector<TimeRange> merge_ranges(std::vector<TimeRange> ranges) {
  const auto earlier = [](const TimeRange& a, const TimeRange& b) { return a.start < b.start; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), earlier))
    std::sort(ranges.begin(), ranges.end(), earlier);
  std::vector<TimeRange> merged;
  for (const TimeRange& range : ranges) {
    if (range.end <= range.start) continue;
    if (!merged.empty() && range.start <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Duration covered(std::span<const TimeRange> merged, TimeRange span) {
  Duration sum{0};
  auto range = std::partition_point(merged.begin(), merged.end(),
                                    [&](const TimeRange& r) { return r.end <= span.start; });
  for (; range != merged.end() && range->start < span.end; ++range) {
    sum += std::min(range->end, span.end) - std::max(range->start, span.start);
  }
  return sum;
}

}  // namespace stepscope
