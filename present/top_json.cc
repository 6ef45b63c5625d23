#include "present/top_json.h"

#include <algorithm>

#include "present/death_words.h"
#include "present/json_value.h"
#include "present/report_json.h"
#include "present/report_run_json.h"
#include "present/trend_line.h"

namespace stepscope {
namespace {

constexpr std::size_t kTrendPoints = 120;
constexpr int kTopOps = 10;

// The step time over the run, as far as it is kept: [[end, mean step time]] of equal intervals.
Json trend_json(const LiveLoop& live) {
  Json points = Json::array();
  for (const TrendPoint& point : trend_points(without_first_step(live), kTrendPoints)) {
    points.push_back({to_ns(point.end), point.mean_ns});
  }
  return points;
}

Json memory_json(const LiveFrame& frame) {
  Json rows = Json::array();
  for (const LiveMemory& memory : frame.memory) {
    rows.push_back({{"process", memory.process},
                    {"pid", memory.pid},
                    {"rss_bytes", or_null(memory.rss_bytes)},
                    {"tensor_bytes", or_null(memory.tensor_bytes)},
                    {"device_allocated_bytes", or_null(memory.device_allocated_bytes)},
                    {"device_reserved_bytes", or_null(memory.device_reserved_bytes)}});
  }
  return rows;
}

}  // namespace

std::string top_json(const LiveFrame& frame) {
  // The analysis of the latest steps, as `stepscope analyze --json` prints it.
  const Json window = Json::parse(json_report(frame.window, kTopOps));
  Json loops = Json::array();
  for (std::size_t i = 0; i < frame.loops.size(); ++i) {
    const LiveLoop& live = frame.loops[i];
    Json loop = window["loops"][i];
    for (const char* key : {"advice", "prediction", "populations", "drift", "slowest", "copies"})
      loop.erase(key);
    loop["verdict"].erase("evidence");
    loop["steps_so_far"] = or_null(live.steps);
    const bool any = !live.history.empty();
    loop["last_step_ns"] = any ? Json(to_ns(live.history.back().dur)) : Json(nullptr);
    loop["trend"] = trend_json(live);
    loop["now"] = last_lines_json(live.now);
    loops.push_back(std::move(loop));
  }
  Json run = window["run"];
  run["ops"] = frame.op_count;
  const Json document = {
      {"schema", "stepscope.live/1"},
      {"at_ns", frame.at_ns},
      {"being_recorded", frame.being_recorded},
      {"finished", frame.finished},
      {"run", run},
      {"memory", memory_json(frame)},
      {"memory_available_bytes", or_null(frame.memory_available_bytes)},
      {"losses", window["losses"]},
      {"deaths", death_sentences(frame.window)},
      {"incomplete", or_null(gap_sentence(frame.window.run))},
      {"no_steps", frame.window.loops.empty() ? Json(no_steps_text(frame.window)) : Json(nullptr)},
      {"loops", loops}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stepscope
