#include "present/report_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analyzer/verdict/summary.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json rank_json(std::int64_t rank) { return rank >= 0 ? Json(rank) : Json(nullptr); }

Json or_null(const std::optional<double>& bytes) {
  return bytes ? Json(std::llround(*bytes)) : Json(nullptr);
}

Json limits_json(const MemoryLimits& limits) {
  return {{"memory_limit_bytes", or_null(limits.group_bytes)},
          {"address_space_bytes", or_null(limits.address_bytes)},
          {"address_space_limit_bytes", or_null(limits.address_limit)},
          {"memory_available_bytes", or_null(limits.available_bytes)},
          {"oom_score", or_null(limits.oom_score)}};
}

Json died_json(const ProcessReport& process) {
  if (process.died.empty()) return nullptr;
  const ProcessEnd& end = *process.end;
  const bool killed = end.how == EndKind::kSignal;
  return {{"how", end.out_of_memory ? "out of memory"
                  : killed          ? signal_name(end.code)
                                    : "exit"},
          {"step", end.step > 0 ? Json(end.step) : Json(nullptr)},
          {"op", or_null(process.died_in)},
          {"thread", or_null(process.died_in_thread)},
          {"signal", killed && end.code > 0 ? Json(end.code) : Json(nullptr)},
          {"out_of_memory", end.out_of_memory},
          {"of_memory", process.of_memory},
          {"system", limits_json(process.limits)},
          {"at_ns", to_ns(end.at)},
          {"why", process.sentence}};
}

Json tensors_json(const HeldTensors& memory) {
  Json by = Json::object();
  for (std::size_t i = 0; i < memory.by.size(); ++i)
    by[owner_name(static_cast<MemoryOwner>(i))] = std::llround(memory.by[i]);
  return {{"bytes", std::llround(memory.bytes)}, {"at_ns", to_ns(memory.at)}, {"by", by}};
}

// At the peak, and when last asked.
Json tensors_json(const ProcessReport& process) {
  if (!process.tensors) return nullptr;
  Json peak = tensors_json(process.tensors->peak);
  peak["step"] = process.peak_step > 0 ? Json(process.peak_step) : Json(nullptr);
  return {{"peak", peak}, {"last", tensors_json(process.tensors->last)}};
}

Json process_json(const ProcessReport& process) {
  const bool exited = process.end && process.end->how == EndKind::kExit && process.end->code >= 0;
  const bool sampled = process.rss_bytes > 0;
  return {{"pid", process.pid},
          {"rank", rank_json(process.rank)},
          {"name", process.name},
          {"exit", exited ? Json(process.end->code) : Json(nullptr)},
          {"died", died_json(process)},
          {"rss_bytes", sampled ? Json(std::llround(process.rss_bytes)) : Json(nullptr)},
          {"rss_peak_bytes", sampled ? Json(std::llround(process.rss_peak_bytes)) : Json(nullptr)},
          {"rss_growth_per_step",
           sampled ? Json(std::llround(process.rss_growth_per_step)) : Json(nullptr)},
          {"tensors", tensors_json(process)}};
}

Json run_json(const AnalysisReport& report) {
  Json processes = Json::array();
  for (const ProcessReport& process : report.processes) {
    processes.push_back(process_json(process));
  }
  Json run = {{"command", report.run.command},
              {"duration_ns", report.run.duration_ns},
              {"torch_version", or_null(report.run.torch_version)},
              {"cudnn_benchmark",
               report.run.cudnn_benchmark ? Json(*report.run.cudnn_benchmark) : Json(nullptr)},
              {"hosts", report.run.hosts},
              {"cpu_count", report.run.cpu_count > 0 ? Json(report.run.cpu_count) : Json(nullptr)},
              {"being_recorded", report.run.being_recorded},
              {"incomplete", report.gap.empty() ? Json(nullptr) : Json(report.gap)},
              {"ops", report.op_count},
              {"processes", processes}};
  if (report.processes_left_out > 0) run["processes_left_out"] = report.processes_left_out;
  if (report.loops_left_out > 0) run["loops_left_out"] = report.loops_left_out;
  return run;
}

Json losses_json(const AnalysisReport& report) {
  std::map<std::string, std::int64_t> kinds;
  std::int64_t events = 0, kernels = 0, samples = 0;
  for (const Loss& loss : report.losses) {
    kinds[loss.kind] += loss.count;
    const bool kernel = loss.kind == "kernel" || loss.kind == "device_record";
    (kernel ? kernels : loss.kind == "sample" ? samples : events) += loss.count;
  }
  return {{"events", events}, {"kernels", kernels}, {"samples", samples}, {"by_kind", kinds}};
}

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
  return {{"unit", loop.unit()},
          {"count", loop.steps.size()},
          {"marker", loop.steps.empty() ? Json(nullptr) : Json(marker_name(loop.marker))},
          {"analysed", loop.analysed.size()},
          {"first", number_or_null(loop, false)},
          {"last", number_or_null(loop, true)},
          {"warm_up", loop.warm_up},
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
  const bool waited = input.wait_ns > 0;
  const auto share = [&](double value) { return input.inferred ? Json(nullptr) : Json(value); };
  return {{"waits", input.waits},
          {"wait_ns", input.wait_ns},
          {"blocked_share", share(waited ? 1 - input.busy_share() : 0)},
          {"busy_share", share(input.busy_share())},
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
  const Verdict& verdict = loop.verdict;
  Json evidence = Json::array();
  for (const Evidence& row : verdict.evidence) evidence.push_back(evidence_json(row));
  return {{"kind", verdict.kind},
          {"degree", or_null(verdict.degree)},
          {"share", verdict.share},
          {"ci95", {verdict.ci_low, verdict.ci_high}},
          {"confidence", verdict.confidence},
          {"why", verdict.sentence},
          {"doubts", loop.doubts},
          {"evidence", evidence}};
}

Json cause_json(const Cause& cause) {
  return {{"category", category_name(cause.category)}, {"label", or_null(cause.label)}};
}

Json population_json(const Population& kind, bool usual) {
  Json json = {{"steps", kind.steps},
               {"mean_ns", kind.mean_ns},
               {"share", kind.share},
               {"label", kind.label},
               {"period", kind.period > 0 ? Json(kind.period) : Json(nullptr)},
               {"first", kind.period > 0 ? Json(kind.first) : Json(nullptr)},
               {"cause", usual ? Json(nullptr) : cause_json(kind.cause)},
               {"extra_ns", std::llround(kind.extra_ns)},
               {"shares", shares_json(kind.shares)}};
  json["verdict"] = {{"kind", kind.bottleneck.kind},
                     {"degree", or_null(kind.bottleneck.degree)},
                     {"share", kind.bottleneck.share}};
  return json;
}

Json populations_json(const LoopReport& loop) {
  Json json = Json::array();
  for (const Population& kind : loop.populations)
    json.push_back(population_json(kind, json.empty()));
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
          {"why", loop.drift->sentence}};
}

Json memory_json(const LoopReport& loop) {
  const bool known = !loop.memory.stall_ns.empty();
  return {{"pressure_share", known ? Json(loop.memory.share) : Json(nullptr)}};
}

Json advice_json(const LoopReport& loop) {
  Json json = Json::array();
  for (const Advice& advice : loop.verdict.advice) {
    json.push_back({{"rule", advice.rule},
                    {"title", advice.title},
                    {"why", advice.why},
                    {"predicted_step_ns", advice.predicted_step_ns},
                    {"saves_ns", advice.saves_ns},
                    {"evidence", evidence_json(advice.evidence)}});
  }
  return json;
}

Json prediction_json(const LoopReport& loop) {
  const ReplayReport& replay = loop.replay;
  return {{"replayed_steps", replay.steps},
          {"replayed_step_ns", std::llround(replay.replayed_ns)},
          {"replay_error", replay.error},
          {"withheld", replay.withheld.empty() ? Json(nullptr) : Json(replay.withheld)}};
}

Json ops_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.ops.size()); ++i) {
    const OpRow& op = loop.ops[i];
    json.push_back({{"name", op.name},
                    {"phase", op.phase},
                    {"calls", op.calls},
                    {"self_ns", op.self_ns},
                    {"launch_ns", op.launch_ns}});
  }
  return json;
}

Json slowest_json(const LoopReport& loop, std::size_t top) {
  std::vector<std::size_t> order = loop.analysed;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return loop.steps[a].dur > loop.steps[b].dur;
  });
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) {
    const Step& step = loop.steps[order[i]];
    Json times = Json::array();
    for (const StepTime& time : step.times) {
      times.push_back({{"category", category_name(time.category)},
                       {"phase", phase_name(time.phase)},
                       {"label", or_null(time.label)},
                       {"ns", to_ns(time.exposed)}});
    }
    json.push_back({{"number", step.number},
                    {"start_ns", to_ns(step.start)},
                    {"wall_ns", to_ns(step.dur)},
                    {"kind", step.kinds.empty() ? Json(nullptr) : Json(step.kinds.front().kind)},
                    {"times", times}});
  }
  return json;
}

Json device_json(const LoopReport& loop) {
  if (loop.device == DeviceId::kNone) return nullptr;
  return {{"number", loop.device_number}, {"name", loop.device_name}};
}

Json kernels_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.kernels.size()); ++i) {
    const KernelRow& kernel = loop.kernels[i];
    json.push_back(
        {{"name", kernel.name},
         {"phase", kernel.phase},
         {"calls", kernel.calls},
         {"total_ns", kernel.total_ns},
         {"occupancy", kernel.occupancy ? Json(*kernel.occupancy) : Json(nullptr)},
         {"tensor_cores", kernel.tensor_cores ? Json(*kernel.tensor_cores) : Json(nullptr)}});
  }
  return json;
}

Json copies_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.copies.size()); ++i) {
    const CopyRow& copy = loop.copies[i];
    json.push_back({{"direction", copy_kind_name(copy.kind)},
                    {"source", memory_kind_name(copy.source)},
                    {"target", memory_kind_name(copy.target)},
                    {"stream", copy.stream},
                    {"calls", copy.calls},
                    {"bytes", copy.bytes},
                    {"total_ns", copy.total_ns},
                    {"beside_kernels_ns", copy.kernel_ns}});
  }
  return json;
}

Json cost_json(const LoopReport& loop, const Price& price) {
  const auto cost = cost_of(loop, price);
  if (!cost) return nullptr;
  return {{"per_hour", price.per_hour},
          {"samples_per_step", cost->samples > 0 ? Json(cost->samples) : Json(nullptr)},
          {"per_step", cost->per_step},
          {"per_sample", cost->per_sample ? Json(*cost->per_sample) : Json(nullptr)}};
}

// The keys that the top level and each loop share.
Json loop_json(const LoopReport& loop, std::size_t top, const Price& price) {
  Json json = {{"cost", cost_json(loop, price)},
               {"steps", steps_json(loop)},
               {"shares", shares_json(loop.shares)},
               {"hidden", shares_json(loop.hidden)},
               {"phases", phases_json(loop.phases)},
               {"call", call_json(loop)},
               {"padding", padding_json(loop)},
               {"input", input_json(loop.input)},
               {"memory", memory_json(loop)},
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

Json ranks_json(const AnalysisReport& report) {
  if (!report.ranks) return nullptr;
  Json rows = Json::array();
  for (const RankRow& row : report.ranks->rows) {
    rows.push_back({{"rank", row.rank},
                    {"process", row.pid},
                    {"step_ns", std::llround(row.step_ns)},
                    {"work_ns", std::llround(row.work_ns())},
                    {"communication_ns", std::llround(row.communication_ns)},
                    {"last_in", row.last_in},
                    {"waits_ns", std::llround(row.waits_ns)},
                    {"costs_ns", std::llround(row.costs_ns)}});
  }
  const auto& straggler = report.ranks->straggler;
  return {{"count", report.ranks->rows.size()},
          {"straggler", straggler ? Json(*straggler) : Json(nullptr)},
          {"gap_ns", std::llround(report.ranks->gap_ns)},
          {"wait_share", report.ranks->wait_share},
          {"step_without_ns",
           straggler ? Json(std::llround(report.ranks->step_without_ns)) : Json(nullptr)},
          {"why", report.ranks->sentence},
          {"each", rows}};
}

LoopReport no_loop(const AnalysisReport& report) {
  LoopReport loop;
  loop.trains = true;  // nothing says that it only infers
  loop.verdict.kind = "no-steps";
  loop.verdict.confidence = "high";
  loop.verdict.sentence = report.no_steps;
  return loop;
}

}  // namespace

std::string json_report(const AnalysisReport& report, int top, const Price& price) {
  const auto most = static_cast<std::size_t>(std::max(top, 0));
  Json document = {{"schema", "stepscope.analysis/1"}, {"run", run_json(report)}};
  const LoopReport none = no_loop(report);
  document.update(loop_json(report.loops.empty() ? none : report.loops.front(), most, price));
  document["ranks"] = ranks_json(report);
  document["losses"] = losses_json(report);
  document["loops"] = Json::array();
  for (const LoopReport& loop : report.loops) {
    Json json = {{"process", loop.pid},
                 {"rank", rank_json(loop.rank)},
                 {"thread", loop.tid},
                 {"thread_name", loop.thread_name},
                 {"device", device_json(loop)}};
    json.update(loop_json(loop, most, price));
    document["loops"].push_back(std::move(json));
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepscope
