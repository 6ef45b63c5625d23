// Two kinds among the values of one series, told from chance: is there a second kind, and where is
// the border?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

// One value a step: its time, or the part of it that one cause took. At least 0.
struct StepSeries {
  std::span<const double> values;
  std::span<const std::int64_t> numbers;  // of the steps, ascending
  double floor = 0;                       // differences far below it are of no interest
  bool whole = false;                     // the values are whole steps, none of them 0
};

struct SeriesSplit {
  std::vector<std::uint8_t> upper;  // 1: the value is of the upper kind
  double separation = 0;            // Ashman's D of the two
};

// Two tests, each of which sees where the other is blind. In a series of one kind the first finds a
// second with a probability below 0.1 %, the other of `chance` at most.
//
// 1. Kinds that are both frequent: Hartigan's dip test (dip.h) says that there is more than one
//    mode. The border is where two normal distributions of the logarithms explain the values best
//    (minimum error thresholding: Kittler and Illingworth 1986).
// 2. A rare kind, whose mode is too small for the dip: a gap. If k values lie above a gap of
//    which the lower end is b, and there is one kind only, then the density falls above b, and the
//    share of the gap in [b, largest] is more than g with a probability of at most
//    (1 - g)^(k - 1): that of k uniform values, the worst case (for a falling density, F(g m) >=
//    g F(m)). For whole steps the same upside down, with logarithms: a rare kind that is fast.
//    Where the rare values come in a rhythm (rhythm.h), which is independent of how large they are,
//    the two probabilities are multiplied. Divided among all k in proportion to 1 / k (Bonferroni).
//
// Steps are not independent: a slow one is followed by a slow one. Therefore neighbours of the
// rare kind count once (runs declustering: Smith and Weissman 1994), and the dip test takes as
// many values as there are, reduced in the proportion of the runs of either kind to those expected
// without dependence (Wald and Wolfowitz 1940).
//
// Whichever is found, the kinds must be apart: D > 2 (Ashman, Bird and Zepf 1994).
//
// The clearest split, or nothing. Fewer than kLeastSteps values are never split; no kind has fewer
// than kLeastOfAKind. O(n log n).
std::optional<SeriesSplit> split_series(const StepSeries& series, double chance);

inline constexpr std::size_t kLeastSteps = 20;
inline constexpr std::size_t kLeastOfAKind = 3;
inline constexpr double kLeastSeparation = 2;

}  // namespace stepscope
