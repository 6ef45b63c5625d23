// Chooses among the steps without ops so that they stand for all steps, even if the steps of one
// part of the run had ops more often than those of another.
//
// Within its budget, the profiler records more ops while steps are long (they cost less there, as a
// share of the step). If a run becomes slower, most of its slow steps have ops, and the mean of the
// others is that of its fast part.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stepscope {

// Consecutive steps, of which the steps without ops stand for the others. A run has at most
// kMostParts.
inline constexpr std::size_t kShortestPart = 25;
inline constexpr std::size_t kMostParts = 32;
// A smaller bias of the mean does not matter.
inline constexpr double kLargestBias = 0.05;
// Where fewer steps than this share have no ops, some with ops count as well.
inline constexpr double kLeastShare = 0.2;

// `times`: of all steps of the run, ns. `plain`: the steps without ops, and `all` these and the
// others, as indexes of `times` in order. `cost_ns`: of the ops in a step that has them.
//
// Returns `plain` if its mean differs by less than kLargestBias, or by less than two standard
// errors, from the mean of all parts, each weighted with its number of steps. Otherwise the same
// share of each part's steps, chosen at random but always alike: as many as the part with the
// smallest share has.
std::vector<std::size_t> balanced_steps(std::span<const double> times,
                                        const std::vector<std::size_t>& plain,
                                        const std::vector<std::size_t>& all, double cost_ns);

}  // namespace stepscope
