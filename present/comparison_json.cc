#include "present/comparison_json.h"

#include <algorithm>
#include <cmath>

#include "present/comparison_cost.h"
#include "present/comparison_notes.h"
#include "present/comparison_words.h"
#include "present/json_value.h"

namespace stepscope {
namespace {

Json run_json(const ComparedRun& run) {
  const RunFacts& facts = run.report.run;
  return {{"path", run.path},
          {"command", facts.command},
          {"torch_version", or_null(facts.torch_version)},
          {"hosts", facts.hosts},
          {"cpu_count", facts.cpu_count > 0 ? Json(facts.cpu_count) : Json(nullptr)},
          {"being_recorded", facts.being_recorded},
          {"ops", run.report.op_count},
          {"lost", run.report.lost()},
          {"loops", run.report.loops.size()}};
}

Json interval_json(const Interval& interval) { return {interval.low, interval.high}; }

enum class Unit : std::uint8_t { kNanoseconds, kShare, kCalls };

// Times are whole nanoseconds. A share has no relative difference; readers use that of its time.
Json difference_json(const Difference& d, Unit unit) {
  const auto number = [unit](double value) {
    return unit == Unit::kNanoseconds ? Json(std::llround(value)) : Json(value);
  };
  const bool known = d.is_known();
  Json json = {
      {"a", number(d.a.value)}, {"b", number(d.b.value)}, {"difference", number(d.delta())},
      {"interval", nullptr},    {"level", nullptr},       {"noise", nullptr}};
  if (known) {
    json["interval"] = {number(d.interval.low), number(d.interval.high)};
    json["level"] = d.level;
    json["noise"] = !d.changed;
  }
  if (unit == Unit::kShare) return json;
  const auto relative = relative_of(d);
  json["relative"] = relative ? Json(relative->value) : Json(nullptr);
  json["relative_interval"] = relative ? interval_json(relative->interval) : Json(nullptr);
  return json;
}

Json parts_json(const std::vector<PartDifference>& parts) {
  Json json = Json::object();
  for (const PartDifference& part : parts) {
    json[part.name] = {{"ns", difference_json(part.ns, Unit::kNanoseconds)},
                       {"share", difference_json(part.share, Unit::kShare)}};
  }
  return json;
}

Json calls_json(const std::vector<CallDifference>& calls, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, calls.size()); ++i) {
    const CallDifference& call = calls[i];
    json.push_back({{"kind", call.kind},
                    {"name", call.name},
                    {"phase", call.phase},
                    {"changed", call.changed()},
                    {"trifle", call.trifle},
                    {"self_ns", difference_json(call.ns, Unit::kNanoseconds)},
                    {"calls", difference_json(call.calls, Unit::kCalls)}});
  }
  return json;
}

Json lines_json(const std::vector<LineDifference>& lines, std::size_t top) {
  const auto number = [](std::int64_t line) { return line > 0 ? Json(line) : Json(nullptr); };
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, lines.size()); ++i) {
    const LineDifference& line = lines[i];
    json.push_back({{"where", line_place_name(line.place)},
                    {"category", line.category},
                    {"file", line.file},
                    {"function", line.function},
                    {"line_a", number(line.line_a)},
                    {"line_b", number(line.line_b)},
                    {"changed", line.ns.changed},
                    {"trifle", line.trifle},
                    {"ns", difference_json(line.ns, Unit::kNanoseconds)}});
  }
  return json;
}

Json steps_json(const LoopReport& loop) {
  return {{"count", loop.steps.size()},
          {"marker", marker_name(loop.marker)},
          {"analysed", loop.analysed.size()},
          {"first", loop.steps[loop.analysed.front()].number},
          {"last", loop.steps[loop.analysed.back()].number},
          {"ops_recorded", loop.ops_recorded}};
}

Json side_json(const LoopReport& loop) {
  return {{"process", loop.pid},
          {"rank", loop.rank >= 0 ? Json(loop.rank) : Json(nullptr)},
          {"thread", loop.tid},
          {"thread_name", loop.thread_name},
          {"device", loop.device != DeviceId::kNone ? Json(loop.device_number) : Json(nullptr)},
          {"steps", steps_json(loop)}};
}

// The keys that the top level and each loop share.
Json loop_json(const ComparisonView& view, const LoopComparison& loop) {
  const auto changed = [](const std::vector<CallDifference>& calls) {
    return std::count_if(calls.begin(), calls.end(),
                         [](const CallDifference& call) { return call.changed(); });
  };
  const auto top = static_cast<std::size_t>(std::max(view.top, 0));
  const auto known = [](double samples) { return samples > 0 ? Json(samples) : Json(nullptr); };
  return {{"unit", loop.unit},
          {"change", change_of(loop)},
          {"answer", answer_of(loop)},
          {"why", reasons_of(loop)},
          {"loop_a", side_json(view.a.report.loops[loop.a])},
          {"loop_b", side_json(view.b.report.loops[loop.b])},
          {"step_time",
           {{"mean", difference_json(loop.mean, Unit::kNanoseconds)},
            {"p50", difference_json(loop.median, Unit::kNanoseconds)}}},
          {"samples_per_step", {{"a", known(loop.samples_a)}, {"b", known(loop.samples_b)}}},
          {"sample_time",
           loop.sample ? difference_json(*loop.sample, Unit::kNanoseconds) : Json(nullptr)},
          {"categories", parts_json(loop.categories)},
          {"phases", parts_json(loop.phases)},
          {"lines_compared", loop.lines.size()},
          {"lines_changed",
           std::ranges::count_if(loop.lines,
                                 [](const LineDifference& line) { return line.ns.changed; })},
          {"lines", lines_json(loop.lines, top)},
          {"ops_compared", loop.calls.size()},
          {"ops_changed", changed(loop.calls)},
          {"ops", calls_json(loop.calls, top)},
          {"kernels_compared", loop.kernels.size()},
          {"kernels_changed", changed(loop.kernels)},
          {"kernels", calls_json(loop.kernels, top)}};
}

const char* kind_name(LimitKind kind) {
  switch (kind) {
    case LimitKind::kRelative:
      return "relative";
    case LimitKind::kMoreTime:
      return "difference_ns";
    case LimitKind::kMorePoints:
      return "difference_share";
    case LimitKind::kShare:
      return "share";
    case LimitKind::kTime:
      break;
  }
  return "ns";
}

Json gates_json(const std::vector<GateOutcome>& gates) {
  Json json = Json::array();
  for (const GateOutcome& outcome : gates) {
    const bool known = outcome.state != GateState::kUndecided && outcome.bounded;
    json.push_back(
        {{"gate", outcome.gate.text},
         {"metric", outcome.gate.of_phase ? "phase." + outcome.gate.metric : outcome.gate.metric},
         {"of", kind_name(outcome.gate.kind)},
         {"limit", outcome.gate.limit},
         {"value", known ? Json(outcome.value) : Json(nullptr)},
         {"interval", known ? interval_json(outcome.interval) : Json(nullptr)},
         {"state", outcome.state == GateState::kFailed      ? "failed"
                   : outcome.state == GateState::kUndecided ? "undecided"
                                                            : "passed"},
         {"why", or_null(doubt_text(outcome))},
         {"loop", outcome.loop}});
  }
  return json;
}

Json sides_json(const std::vector<std::size_t>& indexes, const AnalysisReport& report) {
  Json json = Json::array();
  for (const std::size_t i : indexes) json.push_back(side_json(report.loops[i]));
  return json;
}

}  // namespace

std::string comparison_json(const ComparisonView& view) {
  const Comparison& comparison = view.comparison;
  Json document = {
      {"schema", "stepscope.comparison/1"}, {"a", run_json(view.a)}, {"b", run_json(view.b)}};
  document.update(loop_json(view, comparison.loops.front()));
  document["cost"] = cost_json(view);
  document["gates"] = gates_json(view.gates);
  document["notes"] = Json::array();
  for (const Note& note : comparison.notes) {
    document["notes"].push_back(
        {{"id", note_id(note.kind)},
         {"text", note_text(note, view.a.report, view.b.report, comparison)}});
  }
  document["loops"] = Json::array();
  for (const LoopComparison& loop : comparison.loops)
    document["loops"].push_back(loop_json(view, loop));
  document["only_in_a"] = sides_json(comparison.only_in_a, view.a.report);
  document["only_in_b"] = sides_json(comparison.only_in_b, view.b.report);
  return document_text(document);
}

}  // namespace stepscope
