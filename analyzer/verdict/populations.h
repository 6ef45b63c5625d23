// The kinds of step in a run. Where every 20th step stalls, or batches have two shapes, the mean
// describes none of the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/verdict/split.h"

namespace stepscope {

// What is known about each step, by index.
struct StepProfiles {
  std::vector<std::int64_t> numbers;  // ascending
  std::vector<double> times;          // whole steps, in ns
  std::vector<std::vector<double>>
      causes;  // exposed ns of each cause (a category, a labelled scope)
};

// Indexes into the profiles by kind, each ascending. The most frequent kind comes first, the others
// by their median time. A single element: all steps are of one kind.
//
// Divides the steps where one series, the step times or one cause, shows two kinds (split_series)
// and the median times of the two differ by kMinRatio; of several such series it uses the one
// that separates best. If such a border would cut through one of two levels of the step times
// (split_levels), it uses the border between the levels instead. Then divides each part again, up
// to kMaxKinds. In a run of one kind, the gaps find a second kind with a probability of at most
// kFalseKinds. O(series · n log n).
std::vector<std::vector<std::size_t>> find_populations(const StepProfiles& profiles);

inline constexpr double kMinRatio = 1.1;
inline constexpr std::size_t kMaxKinds = 4;
inline constexpr double kFalseKinds = 0.01;

}  // namespace stepscope
