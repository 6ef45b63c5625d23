#include "present/trend_line.h"

#include <algorithm>
#include <array>

namespace stepscope {

std::span<const LiveStep> without_first_step(const LiveLoop& loop) {
  const std::span<const LiveStep> history = loop.history;
  const auto kept = static_cast<std::int64_t>(history.size());
  const bool has_first = kept > 0 && kept >= loop.steps.value_or(0);
  return history.subspan(has_first ? 1 : 0);
}

std::vector<TrendPoint> trend_points(std::span<const LiveStep> history, std::size_t most) {
  if (history.empty() || most == 0) return {};
  const auto pieces = static_cast<std::int64_t>(std::min(most, history.size()));
  const std::int64_t begin = to_ns(history.front().end - history.front().dur);
  const std::int64_t span = std::max<std::int64_t>(to_ns(history.back().end) - begin, 1);
  const auto piece_of = [&](const LiveStep& step) {
    // In floating point: the product of two times would overflow.
    const double part = static_cast<double>(to_ns(step.end) - begin) / static_cast<double>(span);
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(part * static_cast<double>(pieces) - 1e-9), 0, pieces - 1);
  };
  std::vector<std::int64_t> sums(static_cast<std::size_t>(pieces)), counts(sums.size());
  for (const LiveStep& step : history) {
    const auto piece = static_cast<std::size_t>(piece_of(step));
    sums[piece] += to_ns(step.dur);
    ++counts[piece];
  }
  std::vector<TrendPoint> points;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::int64_t end = begin + span / pieces * static_cast<std::int64_t>(i + 1);
    points.push_back({session_time(end), sums[i] / counts[i]});
  }
  return points;
}

std::string sparkline(const std::vector<TrendPoint>& points) {
  static constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::int64_t most = 1;
  for (const TrendPoint& point : points) most = std::max(most, point.mean_ns);
  std::string line;
  for (const TrendPoint& point : points) {
    const double part = static_cast<double>(point.mean_ns) / static_cast<double>(most);
    line += kHeights[std::min<std::size_t>(static_cast<std::size_t>(part * 8), 7)];
  }
  return line;
}

}  // namespace stepscope
