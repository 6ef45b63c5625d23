#include "present/report_loop_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyzer/verdict/summary.h"
#include "analyzer/words.h"
#include "present/advice/advice_words.h"
#include "present/evidence_words.h"
#include "present/json_value.h"
#include "present/population_words.h"
#include "present/replay_words.h"
#include "present/report_code_json.h"
#include "present/report_rank_json.h"
#include "present/report_tables_json.h"
#include "present/verdict_words.h"

namespace stepscope {
namespace {

Json shares_json(const Shares& shares) {
  Json json = Json::object();
  for (int i = 0; i < kCategoryCount; ++i) {
    json[category_name(static_cast<Category>(i))] = shares[static_cast<std::size_t>(i)];
  }
  return json;
}

Json number_or_null(const LoopReport& loop, bool last) {
  if (loop.analysed.empty()) return nullptr;
  return loop.steps[last ? loop.analysed.back() : loop.analysed.front()].number;
}

Json steps_json(const LoopReport& loop) {
  const std::int64_t batches = loop.batches_per_step;
  return {{"unit", loop.unit()},
          {"count", loop.steps.size()},
          {"marker", loop.steps.empty() ? Json(nullptr) : Json(marker_name(loop.marker))},
          {"batches_per_step", batches > 0 ? Json(batches) : Json(nullptr)},
          {"analysed", loop.analysed.size()},
          {"first", number_or_null(loop, false)},
          {"last", number_or_null(loop, true)},
          {"warm_up", loop.warm_up},
          {"with_lost_marks", loop.with_lost_marks},
          {"with_stops", loop.with_stops},
          {"ops_recorded", loop.ops_recorded},
          {"wall_ns",
           {{"mean", loop.wall.mean},
            {"p50", loop.wall.p50},
            {"p90", loop.wall.p90},
            {"p99", loop.wall.p99 ? Json(*loop.wall.p99) : Json(nullptr)},
            {"min", loop.wall.min},
            {"max", loop.wall.max}}}};
}

Json phases_json(const PhaseMeans& phases) {
  return {{"input", std::llround(phases.input)},
          {"forward", std::llround(phases.forward)},
          {"backward", std::llround(phases.backward)},
          {"optimizer", std::llround(phases.optimizer)},
          {"other", std::llround(phases.other)}};
}

Json call_json(const LoopReport& loop) {
  if (loop.trains) return nullptr;
  const CallMeans means = call_means(loop);
  Json scopes = Json::object();
  for (const auto& [label, ns] : means.scopes) scopes[label] = std::llround(ns);
  return {{"input", std::llround(means.input)},
          {"model", std::llround(means.model)},
          {"scopes", scopes},
          {"other", std::llround(means.other)}};
}

Json padding_json(const LoopReport& loop) {
  const PaddingUse& use = loop.padding;
  if (use.batches == 0) return nullptr;
  return {{"batches", use.batches},
          {"samples", use.samples},
          {"share", use.padding_share()},
          {"sorted_elements_share", use.sorted.elements / use.computed.elements},
          {"bucketed_elements_share", use.bucketed.elements / use.computed.elements}};
}

Json input_json(const InputUse& input) {
  const auto share = [&](double value) { return input.inferred ? Json(nullptr) : Json(value); };
  return {{"waits", input.waits},
          {"wait_ns", input.wait_ns},
          {"blocked_share", share(input.blocked_share())},
          {"busy_share", share(input.busy_share())},
          {"starved_share", input.schedule_known ? Json(input.starved_share()) : Json(nullptr)},
          {"loader", or_null(input.loader)},
          {"inferred", input.inferred}};
}

Json evidence_json(const Evidence& evidence) {
  return {{"statement", evidence.statement},
          {"value", evidence.value},
          {"unit", evidence.unit},
          {"query", evidence.query}};
}

Json verdict_json(const LoopReport& loop) {
  const LoopVerdict& verdict = loop.verdict;
  Json evidence = Json::array();
  for (const EvidenceFact& fact : verdict.evidence)
    evidence.push_back(evidence_json(make_evidence(fact, statement_of(fact, loop))));
  return {{"kind", verdict.kind},
          {"degree", or_null(verdict.degree)},
          {"share", verdict.share},
          {"ci95", {verdict.ci_low, verdict.ci_high}},
          {"confidence", verdict.confidence},
          {"why", verdict_sentence(loop)},
          {"doubts", verdict_doubts(loop)},
          {"evidence", evidence}};
}

Json segments_json(const RunUse& use) {
  Json json = Json::array();
  for (const SegmentUse& segment : use.segments) {
    const Bottleneck& bottleneck = segment.bottleneck;
    json.push_back(
        {{"kind", segment_name(segment.kind)},
         {"count", segment.count},
         {"total_ns", segment.total_ns},
         {"run_share", segment.run_share},
         {"batches", segment.batches},
         {"input_ns", segment.input_ns},
         {"verdict", bottleneck.kind.empty() ? Json(nullptr)
                                             : Json{{"kind", bottleneck.kind},
                                                    {"degree", or_null(bottleneck.degree)},
                                                    {"share", bottleneck.share}}}});
  }
  return json;
}

Json goodput_json(const RunUse& use) {
  Json json = {{"run_ns", use.run_ns},           {"startup_ns", use.startup_ns},
               {"training_ns", use.training_ns}, {"training_input_ns", use.input_ns},
               {"rest_ns", use.rest_ns},         {"share", use.goodput()}};
  for (int i = 0; i < kSegmentKindCount; ++i)
    json[segment_name(static_cast<SegmentKind>(i)) + std::string("_ns")] = 0;
  for (const SegmentUse& segment : use.segments)
    json[segment_name(segment.kind) + std::string("_ns")] = segment.total_ns;
  return json;
}

Json cause_json(const Cause& cause) {
  return {{"category", category_name(cause.category)}, {"label", or_null(cause.label)}};
}

Json population_json(const LoopReport& loop, std::size_t index) {
  const Population& kind = loop.populations[index];
  Json json = {{"steps", kind.steps},
               {"mean_ns", kind.mean_ns},
               {"share", kind.share},
               {"label", population_label(loop, index)},
               {"period", kind.period > 0 ? Json(kind.period) : Json(nullptr)},
               {"first", kind.period > 0 ? Json(kind.first) : Json(nullptr)},
               {"cause", index == 0 ? Json(nullptr) : cause_json(kind.cause)},
               {"extra_ns", std::llround(kind.extra_ns)},
               {"shares", shares_json(kind.shares)}};
  json["verdict"] = {{"kind", kind.bottleneck.kind},
                     {"degree", or_null(kind.bottleneck.degree)},
                     {"share", kind.bottleneck.share}};
  return json;
}

Json populations_json(const LoopReport& loop) {
  Json json = Json::array();
  for (std::size_t i = 0; i < loop.populations.size(); ++i)
    json.push_back(population_json(loop, i));
  return json;
}

Json interval_json(const Interval& interval) {
  return {std::llround(interval.low), std::llround(interval.high)};
}

Json drift_json(const LoopReport& loop) {
  if (!loop.drift) return nullptr;
  const Trend& trend = loop.drift->trend;
  return {{"change_ns", std::llround(trend.change)},
          {"ci95_ns", interval_json(trend.change_ci)},
          {"change_share", trend.change / trend.level},
          {"per_step_ns", trend.slope},
          {"per_step_ci95_ns", {trend.slope_ci.low, trend.slope_ci.high}},
          {"from_step", trend.jump_at > 0 ? Json(trend.jump_at) : Json(nullptr)},
          {"cause", cause_json(loop.drift->cause)},
          {"why", drift_sentence(*loop.drift, loop.unit())}};
}

Json memory_json(const LoopReport& loop) {
  const bool known = !loop.memory.stall_ns.empty();
  return {{"pressure_share", known ? Json(loop.memory.share) : Json(nullptr)}};
}

Json split_json(const ScheduleSplit& split) {
  return {{"running_ns", std::llround(split.running)},
          {"starved_ns", std::llround(split.starved)},
          {"blocked_ns", std::llround(split.blocked)}};
}

Json threads_json(const std::vector<ThreadShares>& threads) {
  Json json = Json::array();
  for (const ThreadShares& thread : threads) {
    json.push_back({{"pid", thread.pid},
                    {"tid", thread.tid},
                    {"name", thread.name},
                    {"running_share", thread.shares.running},
                    {"starved_share", thread.shares.starved},
                    {"blocked_share", thread.shares.blocked},
                    {"cores", thread.cores > 0 ? Json(thread.cores) : Json(nullptr)}});
  }
  return json;
}

Json starvation_json(const LoopReport& loop) {
  const Starvation& starvation = loop.starvation;
  if (!starvation.known) return nullptr;
  static constexpr std::array kTakers = {"unknown", "own-threads", "quota", "pinning", "others"};
  const CoreUse& cores = starvation.cores;
  const PhaseSchedule& phases = starvation.phases;
  Json json = {{"share", starvation.share},
               {"loop_share", starvation.loop_share},
               {"pool_share", starvation.pool_share},
               {"worker_share", starvation.worker_share},
               {"pool", threads_json(starvation.pool)},
               {"workers", threads_json(starvation.workers)}};
  json["phases"] = {{"input", split_json(phases.input)},
                    {"forward", split_json(phases.forward)},
                    {"backward", split_json(phases.backward)},
                    {"optimizer", split_json(phases.optimizer)},
                    {"other", split_json(phases.other)}};
  json["cores"] = {{"taken_by", cores.taker == CoreTaker::kUnknown
                                    ? Json(nullptr)
                                    : Json(kTakers[static_cast<std::size_t>(cores.taker)])},
                   {"available", cores.available > 0 ? Json(cores.available) : Json(nullptr)},
                   {"quota", cores.quota > 0 ? Json(cores.quota) : Json(nullptr)},
                   {"throttled_share", cores.throttled},
                   {"own", cores.own},
                   {"own_busy_threads", cores.own_busy},
                   {"others", cores.others},
                   {"stolen", cores.stolen}};
  return json;
}

Json likely_json(const Advice& advice) {
  if (!advice.likely) return nullptr;
  return {advice.likely->low_ns, advice.likely->high_ns};
}

Json advice_json(const LoopReport& loop) {
  Json json = Json::array();
  for (const Advice& advice : make_advice(loop)) {
    json.push_back({{"rule", advice.rule},
                    {"title", advice.title},
                    {"why", advice.why},
                    {"predicted_step_ns", advice.predicted_step_ns},
                    {"saves_ns", advice.saves_ns},
                    {"likely_ns", likely_json(advice)},
                    {"evidence", evidence_json(advice.evidence)}});
  }
  return json;
}

Json prediction_json(const LoopReport& loop) {
  const ReplayReport& replay = loop.replay;
  return {{"replayed_steps", replay.steps},
          {"replayed_step_ns", std::llround(replay.replayed_ns)},
          {"replay_error", replay.error},
          {"withheld", or_null(withheld_text(replay))}};
}

Json cost_json(const LoopReport& loop, const Price& price) {
  const auto cost = cost_of(loop, price);
  if (!cost) return nullptr;
  return {{"per_hour", price.per_hour},
          {"samples_per_step", cost->samples > 0 ? Json(cost->samples) : Json(nullptr)},
          {"per_step", cost->per_step},
          {"per_sample", cost->per_sample ? Json(*cost->per_sample) : Json(nullptr)}};
}

}  // namespace

Json recording_json(const LoopReport& loop) {
  const OpsCost& cost = loop.recording.ops;
  const bool measured = cost.op_steps > 0 && cost.plain_steps > 0;
  return {{"op_steps", loop.op_steps.size()},
          {"plain_steps", cost.plain_steps},
          {"op_step_share", measured ? Json(loop.recording.op_step_share) : Json(nullptr)},
          {"ops_cost_per_step_ns", measured ? Json(std::llround(cost.per_step_ns)) : Json(nullptr)},
          {"run_share", measured ? Json(loop.recording.run_share) : Json(nullptr)},
          {"removed", loop.recording.removed}};
}

Json device_json(const LoopReport& loop) {
  if (loop.device == DeviceId::kNone) return nullptr;
  return {{"number", loop.device_number}, {"name", loop.device_name}};
}

Json loop_json(const LoopReport& loop, std::size_t top, const Price& price) {
  Json json = {{"cost", cost_json(loop, price)},
               {"steps", steps_json(loop)},
               {"shares", shares_json(loop.shares)},
               {"hidden", shares_json(loop.hidden)},
               {"phases", phases_json(loop.phases)},
               {"scopes", scopes_json(loop, top)},
               {"lines", lines_json(loop)},
               {"line_use", line_use_json(loop.line_use)},
               {"modules", modules_json(loop)},
               {"native", native_json(loop)},
               {"segments", segments_json(loop.run_use)},
               {"goodput", loop.trains ? goodput_json(loop.run_use) : Json(nullptr)},
               {"recording", recording_json(loop)},
               {"call", call_json(loop)},
               {"padding", padding_json(loop)},
               {"input", input_json(loop.input)},
               {"memory", memory_json(loop)},
               {"starvation", starvation_json(loop)},
               {"rank_wait", rank_wait_json(loop)},
               {"verdict", verdict_json(loop)},
               {"populations", populations_json(loop)},
               {"drift", drift_json(loop)},
               {"advice", advice_json(loop)},
               {"prediction", prediction_json(loop)},
               {"ops", ops_json(loop, top)},
               {"kernels", kernels_json(loop, top)},
               {"copies", copies_json(loop, top)},
               {"slowest", slowest_json(loop, top)}};
  if (loop.merged_ops > 0 || loop.merged_kernels > 0)
    json["merged_names"] = {{"ops", loop.merged_ops}, {"kernels", loop.merged_kernels}};
  return json;
}

}  // namespace stepscope
