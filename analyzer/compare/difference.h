// The difference of one figure between two runs, and whether it exceeds the noise.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/compare/estimate.h"

namespace stepscope {

inline constexpr double kLevel = 0.95;

struct Difference {
  Estimate a;
  Estimate b;
  double p = 1;  // two-sided p-value of no difference (Welch 1947); 1 if unknown
  // The coverage of the interval: kLevel, or more for one of many (control_false_discoveries).
  double level = kLevel;
  Interval interval;  // of delta(); just delta() if unknown
  // The interval does not contain 0. Otherwise the difference is noise, or unknown.
  bool changed = false;

  [[nodiscard]] double delta() const { return b.value - a.value; }
  // Both runs have enough steps to estimate the noise.
  [[nodiscard]] bool is_known() const { return a.has_error() && b.has_error(); }
};

// The steps of each run are assumed to vary at least as much as those of both runs together.
// Otherwise a short run that happens to have none of the rare slow steps would look like one that
// never has any.
Difference difference_of(const Estimate& a, const Estimate& b, double level = kLevel);

// The interval of b - factor × a, at the level of the difference. Needs is_known().
Interval interval_against(const Difference& difference, double factor);

// b / a - 1, and its interval (Fieller 1954), which contains 0 exactly when that of the difference
// does. Nothing if a cannot be distinguished from 0, or if the difference is unknown.
struct Relative {
  double value = 0;
  Interval interval;
};
std::optional<Relative> relative_of(const Difference& difference);

// Among many comparisons some differ by chance: 1 in 20 at 95 %. Decides which of the family
// changed such that 1 in 20 of those is expected to be wrong, and 19 of 20 comparisons of identical
// runs show no change at all (Benjamini and Hochberg 1995), and widens all intervals to match
// (Benjamini and Yekutieli 2005: with R changed among m, 1 - 0.05 R / m).
void control_false_discoveries(std::span<Difference* const> family);

}  // namespace stepscope
