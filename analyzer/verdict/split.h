// Splits the values of one series into two kinds, where chance cannot explain the difference: is
// there a second kind, and where is the border?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

// One value per step: its time, or the part of it due to one cause. At least 0.
struct StepSeries {
  std::span<const double> values;
  std::span<const std::int64_t> numbers;  // of the steps, ascending
  double floor = 0;                       // far smaller differences are ignored
  bool whole = false;                     // the values are whole steps, none of them 0
};

struct SeriesSplit {
  std::vector<std::uint8_t> upper;  // 1: the value is of the upper kind
  double separation = 0;            // Ashman's D of the two
};

// Two tests, which complement each other. In a series of one kind the first finds a second kind
// with a probability below 0.1 %, the other with a probability of at most `chance`.
//
// 1. Both kinds are frequent: Hartigan's dip test (dip.h) says that there is more than one
//    mode. The border is where two normal distributions of the logarithms explain the values best
//    (minimum error thresholding: Kittler and Illingworth 1986). Neither may be narrower than a
//    third of the standard deviation of all values.
// 2. One kind is rare, and its mode is too small for the dip test: a gap. If k values lie above a
//    gap of which the lower end is b, and there is one kind only, then the density falls above b,
//    and the share of the gap in [b, largest] is more than g with a probability of at most (1 -
//    g)^(k - 1): that of k uniform values, the worst case (for a falling density, F(g m) >= g
//    F(m)). For whole steps the same in reverse, with logarithms: a rare kind that is fast. Where
//    the rare values are periodic (rhythm.h), which is independent of how large they are, the two
//    probabilities are multiplied. Divided among all k in proportion to 1 / k (Bonferroni).
//
// Steps are not independent: a slow step tends to follow a slow step. Therefore neighbours of the
// rare kind count once (runs declustering: Smith and Weissman 1994), and the dip test uses the
// number of values reduced by the ratio of the observed runs of either kind to those expected
// without dependence (Wald and Wolfowitz 1940).
//
// Whichever test finds them, the kinds must be separate: D > 2 (Ashman, Bird and Zepf 1994).
//
// Returns the clearest split, or nothing. Fewer than kMinSteps values are never split; no kind
// has fewer than kMinOfAKind. O(n log n).
std::optional<SeriesSplit> split_series(const StepSeries& series, double chance);

// The levels of a series: the same tests as if steps were independent. Two blocks of steps that
// differ are levels, and so are two stretches of one slowly varying kind: no evidence of kinds by
// itself.
std::optional<SeriesSplit> split_levels(const StepSeries& series, double chance);

inline constexpr std::size_t kMinSteps = 20;
inline constexpr std::size_t kMinOfAKind = 3;
inline constexpr double kMinSeparation = 2;

}  // namespace stepscope
