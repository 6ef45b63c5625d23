#include "sweep/compare_levels.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/compare/difference.h"
#include "sweep/setting.h"

namespace stepscope {
namespace {

// A dimension of the grid: the variants, or a parameter.
struct Dimension {
  bool variants = false;
  std::size_t parameter = 0;
};

std::size_t level_of(const SweepCell& cell, Dimension dimension) {
  return dimension.variants ? cell.variant : cell.values[dimension.parameter];
}

// The position of the cell in all other dimensions.
std::vector<std::size_t> rest_of(const SweepCell& cell, Dimension dimension) {
  std::vector<std::size_t> rest = cell.values;
  if (dimension.variants) return rest;
  rest[dimension.parameter] = 0;
  rest.push_back(cell.variant);
  return rest;
}

std::string title_of_rest(const SweepPlan& plan, SweepCell cell, Dimension dimension) {
  std::string title = dimension.variants ? "" : plan.variants[cell.variant].name;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    if (!dimension.variants && i == dimension.parameter) continue;
    title +=
        (title.empty() ? "" : " ") + plan.parameters[i].name + "=" + value_of(plan, cell, i).text;
  }
  return title.empty() ? "the command" : title;
}

// The mean of the logarithms of several costs.
Estimate mean_of_logs(const std::vector<Estimate>& costs) {
  Estimate mean;
  const double count = static_cast<double>(costs.size());
  double squares = 0;
  for (const Estimate& cost : costs) {
    mean.value += std::log(cost.value) / count;
    const double relative = cost.error / cost.value;
    squares += relative * relative;
    mean.pieces = mean.pieces > 0 ? std::min(mean.pieces, cost.pieces) : cost.pieces;
  }
  mean.error = std::sqrt(squares) / count;
  mean.steps = count;
  return mean;
}

using CostsOfLevels = std::vector<std::vector<Estimate>>;  // by level, by setting

CostsOfLevels common_costs(const SweepReport& report, Dimension dimension, std::size_t levels,
                           LevelComparison& comparison) {
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> settings;
  for (std::size_t i = 0; i < report.plan.cells.size(); ++i) {
    settings[rest_of(report.plan.cells[i], dimension)].push_back(i);
  }
  CostsOfLevels costs(levels);
  for (const auto& [rest, cells] : settings) {
    const bool all =
        cells.size() == levels && std::all_of(cells.begin(), cells.end(), [&](std::size_t cell) {
          return report.cells[cell].available() && report.cells[cell].cost().value > 0;
        });
    if (!all) {
      comparison.left_out.push_back(
          title_of_rest(report.plan, report.plan.cells[cells.front()], dimension));
      continue;
    }
    ++comparison.settings;
    for (const std::size_t cell : cells) {
      costs[level_of(report.plan.cells[cell], dimension)].push_back(report.cells[cell].cost());
    }
  }
  return costs;
}

LevelComparison compare(const SweepReport& report, Dimension dimension, const std::string& of,
                        const std::vector<std::string>& names) {
  LevelComparison comparison;
  comparison.of = of;
  const CostsOfLevels costs = common_costs(report, dimension, names.size(), comparison);
  if (comparison.settings == 0) return comparison;
  std::vector<Estimate> logs;
  for (const auto& level : costs) logs.push_back(mean_of_logs(level));
  const auto least =
      std::min_element(logs.begin(), logs.end(),
                       [](const Estimate& a, const Estimate& b) { return a.value < b.value; });
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Difference difference = difference_of(*least, logs[i]);
    Level level{names[i], std::exp(logs[i].value), std::exp(difference.delta()), {1, 1}, false};
    if (&logs[i] != &*least) {
      level.interval = {std::exp(difference.interval.low), std::exp(difference.interval.high)};
      level.noise = !difference.changed;
    }
    comparison.levels.push_back(level);
  }
  std::stable_sort(comparison.levels.begin(), comparison.levels.end(),
                   [](const Level& a, const Level& b) { return a.cost_ns < b.cost_ns; });
  return comparison;
}

}  // namespace

std::vector<LevelComparison> compare_levels(const SweepReport& report) {
  std::vector<LevelComparison> comparisons;
  const SweepPlan& plan = report.plan;
  if (plan.variants.size() > 1) {
    std::vector<std::string> names;
    for (const SweepVariant& variant : plan.variants) names.push_back(variant.name);
    comparisons.push_back(compare(report, {true, 0}, "variant", names));
  }
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    if (parameter.numeric() || parameter.values.size() < 2) continue;
    std::vector<std::string> names;
    for (const SweepValue& value : parameter.values) names.push_back(value.text);
    comparisons.push_back(compare(report, {false, i}, parameter.name, names));
  }
  return comparisons;
}

}  // namespace stepscope
