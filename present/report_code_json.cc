#include "present/report_code_json.h"

#include "present/json_value.h"

namespace stepscope {

Json lines_json(const LoopReport& loop) {
  Json json = Json::array();
  for (const LineShare& line : loop.lines) {
    json.push_back({{"where", line_place_name(line.place)},
                    {"category", line.category},
                    {"file", line.file},
                    {"line", line.line > 0 ? Json(line.line) : Json(nullptr)},
                    {"function", line.function},
                    {"inside", or_null(line.inside)},
                    {"blocked", or_null(line.blocked)},
                    {"share", line.share},
                    {"ci95", {line.ci_low, line.ci_high}},
                    {"samples", line.samples},
                    {"step_ns", to_ns(line.step)}});
  }
  return json;
}

Json modules_json(const LoopReport& loop) {
  Json json = Json::array();
  for (const ModuleTime& module : loop.modules) {
    json.push_back({{"root", module.root},
                    {"name", module.name},
                    {"class", or_null(module.class_name)},
                    {"calls", module.calls},
                    {"recomputed", module.recomputed},
                    {"ops", module.ops},
                    {"forward_ns", to_ns(module.forward)},
                    {"forward_self_ns", to_ns(module.forward_self)},
                    {"backward_ns", to_ns(module.backward)},
                    {"backward_self_ns", to_ns(module.backward_self)},
                    {"held_bytes", module.held_bytes ? Json(*module.held_bytes) : Json(nullptr)},
                    {"steps", module.steps}});
  }
  return json;
}

Json native_json(const LoopReport& loop) {
  Json json = Json::array();
  for (const NativeShare& native : loop.native) {
    json.push_back({{"library", native.library},
                    {"share", native.share},
                    {"samples", native.samples > 0 ? Json(native.samples) : Json(nullptr)}});
  }
  return json;
}

Json line_use_json(const LineUse& use) {
  return {{"loop_samples", use.loop_samples},
          {"worker_samples", use.worker_samples},
          {"withheld", use.withheld}};
}

}  // namespace stepscope
