// A confidence interval for a share of step time. Step times are not normal (stalls, long tails),
// so the interval is bootstrapped: resample the steps, recompute the share, read the percentiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analyzer/facts/interval.h"

namespace stepscope {

inline constexpr int kResamples = 2000;
inline constexpr std::size_t kMaxBlocks = 1000;
inline constexpr std::uint64_t kBootstrapSeed = 0x57e95c09e;

// 95 % percentile interval (Efron 1979) of sum(parts) / sum(wholes), pairs resampled together. More
// than kMaxBlocks pairs are first summed into kMaxBlocks blocks of neighbours, which bounds the
// time and allows for steps that resemble their neighbours. Deterministic. For one pair or none,
// the interval is the point itself.
Interval bootstrap_ratio(std::span<const double> parts, std::span<const double> wholes,
                         std::uint64_t seed = kBootstrapSeed);

}  // namespace stepscope
