#include "present/report_json.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "present/death_words.h"
#include "present/json_value.h"
#include "present/report_loop_json.h"
#include "present/report_rank_json.h"
#include "present/report_run_json.h"

namespace stepscope {
namespace {

// Stands in for a loop, with the breakdown of the whole recording if there is one.
LoopReport no_loop(const AnalysisReport& report) {
  LoopReport loop;
  if (report.whole) {
    loop.shares = report.whole->shares;
    loop.hidden = report.whole->hidden;
    loop.ops = report.whole->ops;
    loop.merged_ops = report.whole->merged_ops;
  }
  loop.trains = true;  // nothing shows that the run does only inference
  loop.verdict.kind = "no-steps";
  loop.verdict.confidence = "high";
  return loop;
}

// For a run without loops: the thread whose whole recording the shares and ops describe.
Json whole_json(const AnalysisReport& report) {
  if (!report.whole) return nullptr;
  return {{"process", report.whole->pid},
          {"thread", report.whole->tid},
          {"thread_name", report.whole->thread_name},
          {"wall_ns", report.whole->wall.mean}};
}

}  // namespace

std::string json_report(const AnalysisReport& report, int top, const Price& price) {
  const auto most = static_cast<std::size_t>(std::max(top, 0));
  Json document = {{"schema", "stepscope.analysis/1"}, {"run", run_json(report)}};
  const LoopReport none = no_loop(report);
  document.update(loop_json(report.loops.empty() ? none : report.loops.front(), most, price));
  if (report.loops.empty()) document["verdict"]["why"] = no_steps_text(report);
  document["whole"] = whole_json(report);
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
  return document_text(document);
}

}  // namespace stepscope
