#include "present/sweep_json.h"

#include <cmath>

#include "analyzer/compare/difference.h"
#include "present/json_value.h"
#include "sweep/setting.h"

namespace stepscope {
namespace {

Json whole(double value) { return std::llround(value); }

Json interval_json(const Interval& interval) { return {interval.low, interval.high}; }

Json estimate_json(const Estimate& estimate) {
  Json json = {{"value", estimate.value}, {"ci95", nullptr}};
  if (estimate.has_error()) json["ci95"] = interval_json(interval_of(estimate, kLevel));
  return json;
}

Json values_json(const SweepPlan& plan, const SweepCell& cell) {
  Json json = Json::object();
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepValue& value = value_of(plan, cell, i);
    json[plan.parameters[i].name] = value.number ? Json(*value.number) : Json(value.text);
    if (value.number && *value.number == std::floor(*value.number) &&
        std::abs(*value.number) < 1e15) {
      json[plan.parameters[i].name] = whole(*value.number);
    }
  }
  return json;
}

Json figures_json(const CellFigures& cell) {
  if (!cell.available()) return nullptr;
  return {{"steps", cell.steps},
          {"step_ns",
           {{"mean", estimate_json(cell.step)},
            {"p50", whole(cell.p50_ns)},
            {"p99", whole(cell.p99_ns)}}},
          {"samples_per_step", or_null(cell.samples_per_step)},
          {"sample_ns", cell.samples_per_step ? estimate_json(cell.cost()) : Json(nullptr)},
          {"samples_per_second", or_null(cell.samples_per_second())},
          {"input_share", or_null(cell.input_share)},
          {"model_share", cell.input_share ? Json(1 - *cell.input_share) : Json(nullptr)},
          {"peak_rss_bytes", whole(cell.peak_rss_bytes)},
          {"peak_address_bytes",
           cell.peak_address_bytes ? whole(*cell.peak_address_bytes) : Json(nullptr)},
          {"minor_faults_per_step", or_null(cell.minor_faults)},
          {"major_faults_per_step", or_null(cell.major_faults)},
          {"pressure_share", or_null(cell.pressure_share)},
          {"system_share", cell.system_share}};
}

Json cell_json(const SweepReport& report, const CellFigures& figures) {
  const SweepCell& cell = report.plan.cells[figures.cell];
  return {{"title", setting_title(report.plan, cell)},
          {"variant", or_null(report.plan.variants[cell.variant].name)},
          {"values", values_json(report.plan, cell)},
          {"command", cell.command},
          {"runs", figures.runs},
          {"outcome", figures.tried ? Json(outcome_name(figures.outcome)) : Json(nullptr)},
          {"cause", or_null(figures.cause)},
          {"figures", figures_json(figures)}};
}

Json memory_json(const MemoryFit& fit) {
  return {{"of", fit.of_address_space ? "address space" : "resident memory"},
          {"base_bytes", whole(fit.base_bytes)},
          {"each_bytes", fit.each_bytes},
          {"limit_bytes", whole(fit.limit_bytes)},
          {"largest", whole(fit.largest)},
          {"ci95", fit.interval ? Json({whole(fit.interval->low), whole(fit.interval->high)})
                                : Json(nullptr)},
          {"settings", fit.settings},
          {"smallest_that_failed", or_null(fit.smallest_that_failed)}};
}

Json pressure_json(const PressureOnset& onset) {
  return {{"cell", onset.cell}, {"slowdown", onset.slowdown}, {"evidence", onset.evidence}};
}

Json scan_json(const Scan& scan) {
  return {{"title", or_null(scan.title)},
          {"cells", scan.cells},
          {"best", or_null(scan.best)},
          {"as_good", scan.as_good},
          {"good_from", scan.best ? Json(scan.good_from) : Json(nullptr)},
          {"good_to", scan.best ? Json(scan.good_to) : Json(nullptr)},
          {"memory_pressure", scan.pressure ? pressure_json(*scan.pressure) : Json(nullptr)},
          {"memory", scan.memory ? memory_json(*scan.memory) : Json(nullptr)},
          {"no_memory", or_null(scan.no_memory_fit)}};
}

Json comparison_json(const LevelComparison& comparison) {
  Json levels = Json::array();
  for (const Level& level : comparison.levels) {
    levels.push_back({{"name", level.name},
                      {"cost_ns", level.cost_ns},
                      {"relative", level.relative},
                      {"ci95", interval_json(level.interval)},
                      {"noise", level.noise}});
  }
  return {{"of", comparison.of},
          {"settings", comparison.settings},
          {"levels", std::move(levels)},
          {"left_out", comparison.left_out}};
}

Json parameters_json(const SweepPlan& plan) {
  Json json = Json::array();
  for (const SweepParameter& parameter : plan.parameters) {
    Json values = Json::array();
    for (const SweepValue& value : parameter.values) values.push_back(value.text);
    json.push_back({{"name", parameter.name},
                    {"numeric", parameter.numeric()},
                    {"values", std::move(values)}});
  }
  return json;
}

Json variants_json(const SweepPlan& plan) {
  Json json = Json::array();
  for (const SweepVariant& variant : plan.variants) {
    json.push_back({{"name", or_null(variant.name)}, {"command", variant.command}});
  }
  return json;
}

Json number_json(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(std::stoll(text));
}

Json machine_json(const SweepPlan& plan) {
  return {{"host", plan.meta_text("host")},
          {"cpu_model", plan.meta_text("cpu_model")},
          {"cpu_count", number_json(plan.meta_text("cpu_count"))},
          {"memory_bytes", number_json(plan.meta_text("memory_bytes"))},
          {"memory_limit_bytes", number_json(plan.meta_text("memory_limit_bytes"))}};
}

template <typename T, typename Make>
Json list_json(const std::vector<T>& items, const Make& make) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(make(item));
  return json;
}

}  // namespace

std::string sweep_json(const SweepReport& report, const std::string& path) {
  const SweepPlan& plan = report.plan;
  const Json document = {
      {"schema", "stepscope.sweep/1"},
      {"path", path},
      {"machine", machine_json(plan)},
      {"torch_versions", report.torch_versions},
      {"tier", plan.meta_text("tier")},
      {"rounds", report.rounds},
      {"runs", {{"made", report.runs_made}, {"planned", report.runs_planned}}},
      {"variants", variants_json(plan)},
      {"parameters", parameters_json(plan)},
      {"unit", report.unit},
      {"scanned", report.scanned ? Json(plan.parameters[*report.scanned].name) : Json(nullptr)},
      {"per_sample", report.per_sample},
      {"cells",
       list_json(report.cells, [&](const CellFigures& cell) { return cell_json(report, cell); })},
      {"scans", list_json(report.scans, scan_json)},
      {"comparisons", list_json(report.comparisons, comparison_json)},
      {"notes", report.notes}};
  return document_text(document);
}

}  // namespace stepscope
