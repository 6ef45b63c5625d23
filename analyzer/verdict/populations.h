// One kind of step or two? Where every tenth step stalls, a mean describes no step at all.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct Split {
  double threshold = 0;           // steps at or above it are the slow ones
  std::vector<std::size_t> slow;  // their indexes, in order
};

// Splits at the widest gap of the sorted logarithms of the step times that leaves at least
// max(3, 2 %) of the steps on each side. It is a split into two kinds only when all of these hold:
// there are at least kLeastSteps steps; the gap is at least kLeastGap × as wide as the 10–90 %
// range of the steps on either side of it (noise, also with a long tail, thins out gradually and
// has no such hole); the slow steps take at least kLeastRatio times as long (ratio of medians).
// Nothing: one kind.
std::optional<Split> split_populations(std::span<const double> step_times);

inline constexpr std::size_t kLeastSteps = 20;
inline constexpr double kLeastGap = 1.5;
inline constexpr double kLeastRatio = 1.2;

// k when `slow` comes every k-th step (k ≥ 2, at least 80 % of the distances equal k, at least 3
// of them in all); else 0.
std::size_t period_of(std::span<const std::size_t> slow);

}  // namespace stepscope
