// Whether a series grows or shrinks beyond noise, and by how much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "analyzer/facts/trend.h"

namespace stepscope {

// The slope is the median of those between all pairs of values (Theil 1950, Sen 1968), with Sen's
// interval. It is a trend when the Mann-Kendall test (Mann 1945, Kendall 1975) says so at the
// 0.05 % level, its variance enlarged for the dependence of neighbours (Hamed and Rao 1998, and at
// least as much as a first-order autoregression needs: Yue and Wang 2004), and the change is at
// least kMinDrift of the level. It is a jump when two levels, separated by least squares
// (Hawkins 1977), leave a sum of absolute differences that is smaller than the line's by a fifth or
// more. A level that changes plainly needs no Mann-Kendall test: at least kMinOfALevel values lie
// on either side, and the gap between the levels (from 90 % of the lower to 90 % of the upper
// values) is kPlainGap times as wide as either level is (from its 10 % to its 90 % quantile). Fewer
// than 1 in 5,000 runs of correlated noise (0.97, 50 values) change like that.
//
// `numbers`: the step of each value, ascending. More than kMaxBlocksOfTrend values are first
// reduced to the medians of kMaxBlocksOfTrend blocks of neighbours. Nothing for fewer than
// kMinOfTrend values. O(n log n).
std::optional<Trend> trend_of(std::span<const double> values,
                              std::span<const std::int64_t> numbers);

inline constexpr std::size_t kMinOfTrend = 50;
inline constexpr std::size_t kMaxBlocksOfTrend = 400;
inline constexpr double kMinDrift = 0.05;
inline constexpr double kJumpRest = 0.8;
inline constexpr std::size_t kMinOfALevel = 10;
inline constexpr double kPlainGap = 2;
inline constexpr double kTrendZ = 3.5;  // two-sided 0.05 % of the normal distribution

}  // namespace stepscope
