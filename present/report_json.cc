#include "present/report_json.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "present/json_value.h"
#include "present/report_loop_json.h"
#include "present/report_run_json.h"

namespace stepscope {
namespace {

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
  return document_text(document);
}

}  // namespace stepscope
