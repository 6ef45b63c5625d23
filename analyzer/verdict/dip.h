// Hartigan's dip test: has a sample one mode, or more?
#pragma once

#include <cstddef>
#include <span>

namespace stepscope {

// The dip of `sorted` (ascending): the largest distance between its empirical distribution function
// and the nearest unimodal one. From 1 / (2 n), of evenly spaced values, to 1/4, of two values half
// and half. 0 for no values. O(n).
// J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13 (1985);
// the algorithm: P. M. Hartigan, Applied Statistics 34, AS 217 (1985).
double dip_of(std::span<const double> sorted);

// sqrt(n) · dip of n independent values of a uniform distribution, of all unimodal ones the most
// likely to look like two, exceeds this in less than 1 of 1,000 samples, for any n from 20 on
// (tests/analyzer/populations_test.cc).
inline constexpr double kDipLimit = 0.75;

}  // namespace stepscope
