#include "present/comparison_cost.h"

#include <fmt/format.h>

#include <cmath>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/comparison_words.h"
#include "present/json_value.h"

namespace stepscope {
namespace {

const LoopReport& loop_of(const ComparedRun& run, std::size_t index) {
  return run.report.loops[index];
}

double unit_cost(const Cost& cost) { return cost.per_sample.value_or(cost.per_step); }

std::string amount(double value) { return fmt::format("{:.4g}", value); }

// "4 ranks without a GPU", "one process on NVIDIA H100"
std::string machines(const ComparedRun& run, const LoopReport& loop) {
  const std::size_t ranks = run.report.ranks ? run.report.ranks->rows.size() : 1;
  const std::string who =
      ranks > 1 ? count_text(static_cast<std::int64_t>(ranks)) + " ranks" : "one process";
  if (loop.device == DeviceId::kNone) return who + " without a GPU";
  return who + " on " + (loop.device_name.empty() ? "a GPU" : printable(loop.device_name));
}

std::string change_text(const ComparedCost& cost) {
  if (!cost.interval) return "too few steps to tell them apart";
  const std::string interval = "(95 % CI " + signed_percent_text(cost.interval->low) + " … " +
                               signed_percent_text(cost.interval->high) + ")";
  if (cost.is_noise()) return "no difference beyond noise " + interval;
  return "B costs " + percent_text(std::abs(cost.relative)) +
         (cost.relative < 0 ? " less " : " more ") + interval;
}

}  // namespace

std::optional<ComparedCost> compare_costs(const ComparisonView& view) {
  const LoopComparison& loop = view.comparison.loops.front();
  const auto a = cost_of(loop_of(view.a, loop.a), view.price_a);
  const auto b = cost_of(loop_of(view.b, loop.b), view.price_b);
  if (!a || !b || a->per_sample.has_value() != b->per_sample.has_value()) return std::nullopt;
  ComparedCost cost{*a, *b, a->per_sample.has_value(), unit_cost(*b) / unit_cost(*a) - 1, {}};
  // Prices and samples are exact; only the step time varies.
  if (const auto steps = relative_of(loop.mean)) {
    const double factor = (1 + cost.relative) / (1 + steps->value);
    cost.interval =
        Interval{factor * (1 + steps->interval.low) - 1, factor * (1 + steps->interval.high) - 1};
  }
  return cost;
}

std::string cost_lines(const ComparisonView& view) {
  if (view.price_a.per_hour <= 0) return "";
  const auto cost = compare_costs(view);
  if (!cost) {
    return "\n  cost   the samples per step are known for only one run: give --samples-per-step "
           "A,B\n";
  }
  const LoopComparison& loop = view.comparison.loops.front();
  const LoopReport& a = loop_of(view.a, loop.a);
  const std::string of = cost->of_samples ? "sample" : a.unit();
  return "\n  cost   a million " + of + "s: A " + amount(1e6 * unit_cost(cost->a)) + ", B " +
         amount(1e6 * unit_cost(cost->b)) + " (at " + amount(view.price_a.per_hour) + " and " +
         amount(view.price_b.per_hour) + " an hour)\n         " + change_text(*cost) +
         "\n         A is " + machines(view.a, a) + ", B " +
         machines(view.b, loop_of(view.b, loop.b)) + "\n";
}

nlohmann::ordered_json cost_json(const ComparisonView& view) {
  const auto cost = compare_costs(view);
  if (!cost) return nullptr;
  const auto side = [](const Cost& of_run, const Price& price) {
    return Json{{"per_hour", price.per_hour},
                {"samples_per_step", of_run.samples > 0 ? Json(of_run.samples) : Json(nullptr)},
                {"per_step", of_run.per_step},
                {"per_sample", of_run.per_sample ? Json(*of_run.per_sample) : Json(nullptr)}};
  };
  return {{"of", cost->of_samples ? "sample" : "step"},
          {"a", side(cost->a, view.price_a)},
          {"b", side(cost->b, view.price_b)},
          {"relative", cost->relative},
          {"relative_interval",
           cost->interval ? Json{cost->interval->low, cost->interval->high} : Json(nullptr)}};
}

}  // namespace stepscope
