// Compares what a sample costs in two runs, given the hourly price of each. It answers, for
// example, whether one GPU is cheaper than many CPU instances, however much faster or slower it is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "analyzer/compare/estimate.h"
#include "present/comparison_view.h"
#include "present/cost.h"

namespace stepscope {

struct ComparedCost {
  Cost a, b;
  bool of_samples = false;  // else of steps
  double relative = 0;      // B / A − 1
  std::optional<Interval> interval;

  [[nodiscard]] bool is_noise() const {
    return interval && interval->low <= 0 && interval->high >= 0;
  }
};

// Compares the loops with the most step time. Returns nothing without prices, or if the samples per
// step are known for only one run.
std::optional<ComparedCost> compare_costs(const ComparisonView& view);

// Lines of the page; "" without prices.
std::string cost_lines(const ComparisonView& view);

// null without prices.
nlohmann::ordered_json cost_json(const ComparisonView& view);

}  // namespace stepscope
