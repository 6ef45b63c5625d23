#include "analyzer/negligible_cost.h"

#include <cmath>
#include <numeric>

namespace stepscope {
namespace {

// The standard deviation as a share of the mean.
double variation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 0 ? std::sqrt(squares / count) / mean : 0;
}

}  // namespace

bool is_negligible(double cost, const std::vector<double>& plain, const std::vector<double>& all) {
  if (cost < kNegligibleCost) return true;
  if (cost > kLargestNegligibleCost || plain.empty() || all.size() <= plain.size()) return false;
  const auto few = static_cast<double>(plain.size()), many = static_cast<double>(all.size());
  const double bias = cost * (many - few) / many;
  return bias < variation(all) * (1 / std::sqrt(few) - 1 / std::sqrt(many));
}

}  // namespace stepscope
