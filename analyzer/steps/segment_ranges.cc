#include "analyzer/steps/segment_ranges.h"

#include <algorithm>

namespace stepscope {
namespace {

// The first segment that ends after `time`.
auto first_after(std::span<const LoopSegment> segments, SessionTime time) {
  return std::partition_point(segments.begin(), segments.end(), [time](const LoopSegment& segment) {
    return range_of(segment).end <= time;
  });
}

}  // namespace

TimeRange range_of(const LoopSegment& segment) {
  return {segment.start, segment.start + segment.dur};
}

std::vector<TimeRange> outside_of(TimeRange range, std::span<const LoopSegment> segments) {
  std::vector<TimeRange> parts;
  for (auto it = first_after(segments, range.start); it != segments.end() && it->start < range.end;
       ++it) {
    if (range.start < it->start) parts.push_back({range.start, it->start});
    range.start = std::min(range_of(*it).end, range.end);
  }
  if (range.start < range.end) parts.push_back(range);
  return parts;
}

Duration length_outside_of(TimeRange range, std::span<const LoopSegment> segments) {
  Duration sum{0};
  for (const TimeRange part : outside_of(range, segments)) sum += part.length();
  return sum;
}

bool in_segment(SessionTime time, std::span<const LoopSegment> segments) {
  const auto it = first_after(segments, time);
  return it != segments.end() && it->start <= time;
}

}  // namespace stepscope
