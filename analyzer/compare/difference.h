// The difference of one figure between two runs, and whether it is more than noise.
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
  double p = 1;  // two-sided, of no difference (Welch 1947); 1 when it cannot be told
  // What the interval covers: kLevel, or more for one of many (control_false_discoveries).
  double level = kLevel;
  Interval interval;  // of delta(); as wide as delta() itself when it cannot be told
  // The interval does not hold 0. Else it is noise, or cannot be told.
  bool changed = false;

  [[nodiscard]] double delta() const { return b.value - a.value; }
  // Both runs have steps enough to say anything about noise.
  [[nodiscard]] bool can_be_told() const { return a.has_error() && b.has_error(); }
};

// The steps of a run are taken to vary at least as much as those of both runs together. Else a
// short run that happens to have none of the rare slow steps would pass for one that never has any.
Difference difference_of(const Estimate& a, const Estimate& b, double level = kLevel);

// Of b - factor × a, at the level of the difference. Needs can_be_told().
Interval interval_against(const Difference& difference, double factor);

// b / a - 1, and the interval of it (Fieller 1954), which holds 0 exactly when that of the
// difference does. Nothing where a cannot be told from 0, or the difference cannot be told.
struct Relative {
  double value = 0;
  Interval interval;
};
std::optional<Relative> relative_of(const Difference& difference);

// Of so many comparisons some differ by chance: 1 in 20 at 95 %. Says which of the family changed
// so that of those, 1 in 20 is expected to be wrong, and none at all in 19 of 20 comparisons of
// like with like (Benjamini and Hochberg 1995), and widens all intervals so that they go with that
// (Benjamini and Yekutieli 2005: of R that changed among m, 1 - 0.05 R / m).
void control_false_discoveries(std::span<Difference* const> family);

}  // namespace stepscope
