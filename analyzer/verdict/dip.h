// Hartigan's dip test: does a distribution have one mode, or more?
#pragma once

#include <cstddef>
#include <span>

namespace stepscope {

// The dip of `sorted` (ascending): the largest distance between its empirical distribution function
// and the nearest unimodal one. From 1 / (2 n), for evenly spaced values, to 1/4, for two values
// half and half. 0 for no values. O(n).
// J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13 (1985);
// the algorithm: P. M. Hartigan, Applied Statistics 34, AS 217 (1985).
double dip_of(std::span<const double> sorted);

// sqrt(n) · dip of n independent values from a uniform distribution, the unimodal distribution most
// likely to look bimodal, exceeds this in fewer than 1 of 1,000 draws, for any n >= 20
// (tests/analyzer/populations_test.cc).
inline constexpr double kDipLimit = 0.75;

}  // namespace stepscope
