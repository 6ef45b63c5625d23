// A figure over the steps of one run, and its standard error. Steps resemble their neighbours (a
// busy machine stays busy for a while), so they do not count as independent.
//
// The error is that of the stationary bootstrap (Politis and Romano 1994, "The stationary
// bootstrap", JASA 89): steps are resampled in stretches of geometrically distributed length. For a
// mean, the variance over all possible resamples has a closed form (their Lemma 1), so nothing
// needs to be drawn, and the same steps always give the same error. docs/comparing.md says how
// accurate it is.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "analyzer/verdict/bootstrap.h"

namespace stepscope {

struct Estimate {
  double value = 0;
  double error = 0;   // standard error of value
  double pieces = 0;  // number of effectively independent stretches, at most `steps`
  double steps = 0;   // number of steps that it is based on

  // With fewer than two there is no way to estimate an error.
  [[nodiscard]] bool has_error() const { return pieces >= 2; }
  [[nodiscard]] double freedom() const { return pieces > 2 ? pieces - 1 : 1; }
};

// sum(parts) / sum(wholes), where the i-th of both belong to one step (or block of steps): a share
// of the step time, or with wholes of 1 a mean. More than kMaxPieces steps are first summed into
// kMaxPieces blocks of neighbours. 0 for no steps. `steps`: the number of steps in all, where the
// values are blocks.
Estimate estimate_ratio(std::span<const double> parts, std::span<const double> wholes,
                        double steps = 0);
Estimate estimate_mean(std::span<const double> values);

// The median, by nearest rank. Its error is derived from that of the share of steps below it
// (Woodruff 1952), which is a mean.
Estimate estimate_median(std::span<const double> values);

inline constexpr std::size_t kMaxPieces = 1024;

// The confidence interval at `level`. Needs has_error().
Interval interval_of(const Estimate& estimate, double level);

// The two parts of estimate_mean(), for tests.
//
// The mean length of the stretches: the greater of what Politis and White (2004, corrected by
// Patton, Politis and White 2009) read from all autocorrelations and what a first-order
// autoregression has with the first one alone (corrected for its bias, Kendall 1954), which is more
// reliable with few steps; times kStretch.
double stretch_length(std::span<const double> values);
// Variance of the mean of the stationary bootstrap's resamples.
double bootstrap_variance(std::span<const double> values, double stretch);

// Their lengths minimise the mean squared error of the variance. For an interval, a variance that
// is too small is worse than one that fluctuates, and longer stretches underestimate it less.
inline constexpr double kStretch = 2;

}  // namespace stepscope
