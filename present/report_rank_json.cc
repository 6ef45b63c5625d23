#include "present/report_rank_json.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "analyzer/words.h"
#include "present/json_value.h"
#include "present/rank_words.h"

namespace stepscope {
namespace {

Json excess_json(const std::optional<RankExcess>& excess) {
  if (!excess) return nullptr;
  return {{"category", category_name(excess->category)},
          {"ns", std::llround(excess->ns)},
          {"line", excess->line ? Json(short_line_text(*excess->line)) : Json(nullptr)}};
}

// `unit`: the word for a step.
Json steps_json(const RankReport& ranks, const char* unit) {
  const RankSteps& steps = ranks.steps;
  return {{"count", steps.total},
          {"compared", steps.compared()},
          {"held_up", steps.held_up},
          {"even", steps.even},
          {"warm_up", steps.warm_up},
          {"missing", steps.missing},
          {"unmeasured", steps.unmeasured},
          {"why", or_null(in_units(rank_steps_sentence(ranks), unit))}};
}

Json row_json(const RankRow& row, const AnalysisReport& report) {
  const auto process = std::ranges::find_if(
      report.processes, [&](const ProcessReport& p) { return p.pid == row.pid; });
  const bool one_host = report.run.hosts.size() == 1;
  const auto own_host = report.run.rank_hosts.find(row.rank);
  return {{"rank", row.rank},
          {"process", row.pid},
          {"name", process == report.processes.end() ? Json(nullptr) : Json(process->name)},
          {"host", own_host != report.run.rank_hosts.end() ? Json(own_host->second)
                   : one_host                              ? Json(report.run.hosts.front())
                                                           : Json(nullptr)},
          {"step_ns", std::llround(row.step_ns)},
          {"work_ns", std::llround(row.work_ns())},
          {"communication_ns", std::llround(row.communication_ns)},
          {"shares",
           {{"input", share_of(row.shares, Category::kInput)},
            {"compute", share_of(row.shares, Category::kCompute)},
            {"communication", share_of(row.shares, Category::kCommunication)}}},
          {"last_in", row.last_in},
          {"waits_ns", std::llround(row.waits_ns)},
          {"waits_for", row.waits_for ? Json(*row.waits_for) : Json(nullptr)},
          {"costs_ns", std::llround(row.costs_ns)},
          {"excess", excess_json(row.excess)},
          {"verdict",
           {{"kind", row.kind},
            {"degree", or_null(row.degree)},
            {"share", row.share},
            {"text", rank_verdict(row)}}}};
}

}  // namespace

Json ranks_json(const AnalysisReport& report) {
  if (!report.ranks) return nullptr;
  const RankReport& ranks = *report.ranks;
  Json rows = Json::array();
  for (const RankRow& row : ranks.rows) rows.push_back(row_json(row, report));
  const auto& straggler = ranks.straggler;
  return {
      {"count", ranks.rows.size()},
      {"straggler", straggler ? Json(*straggler) : Json(nullptr)},
      {"gap_ns", std::llround(ranks.gap_ns)},
      {"wait_share", ranks.wait_share},
      {"step_without_ns", straggler ? Json(std::llround(ranks.step_without_ns)) : Json(nullptr)},
      {"why", ranks_sentence(ranks)},
      {"steps", steps_json(ranks, report.loops.front().unit())},
      {"each", rows}};
}

Json rank_wait_json(const LoopReport& loop) {
  if (!loop.rank_wait) return nullptr;
  const RankWait& wait = *loop.rank_wait;
  return {{"share", wait.share},         {"ci95", {wait.ci.low, wait.ci.high}},
          {"steps", wait.steps.size()},  {"rank", wait.rank},
          {"rank_part", wait.rank_part}, {"excess", excess_json(wait.excess)}};
}

}  // namespace stepscope
