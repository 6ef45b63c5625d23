#include "analyzer/negligible_cost.h"

#include <cmath>

#include "analyzer/mean.h"

namespace stepscope {
namespace {

// The standard deviation as a share of the mean.
double variation(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size())) / mean;
}

}  // namespace

bool is_negligible(double cost_ns, const std::vector<double>& plain,
                   const std::vector<double>& all) {
  const double mean = all.empty() ? 0 : mean_of(all);
  const double cost = mean > 0 ? cost_ns / mean : 0;
  if (cost < kNegligibleCost) return true;
  if (cost > kLargestNegligibleCost || plain.empty() || all.size() <= plain.size()) return false;
  const auto few = static_cast<double>(plain.size()), many = static_cast<double>(all.size());
  const double bias = cost * (many - few) / many;
  return bias < variation(all, mean) * (1 / std::sqrt(few) - 1 / std::sqrt(many));
}

}  // namespace stepscope
