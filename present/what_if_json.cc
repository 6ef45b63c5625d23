#include "present/what_if_json.h"

#include <cmath>
#include <cstddef>

#include "present/json_value.h"
#include "present/what_if_answer.h"

namespace stepscope {
namespace {

Json exposed_json(const Prediction& prediction) {
  Json json;
  for (std::size_t i = 0; i < prediction.exposed.size(); ++i)
    json[category_name(static_cast<Category>(i))] = std::llround(prediction.exposed[i]);
  return json;
}

}  // namespace

std::string what_if_json(const WhatIfAnswer& answer) {
  const Prediction& predicted = answer.predicted;
  Json notes = Json::array();
  for (const WhatIfNote& note : answer.notes) notes.push_back(what_if_note_text(note));
  const Json document = {
      {"schema", "stepscope.what_if/1"},
      {"measured_step_ns", answer.loop.wall.mean},
      {"replayed_step_ns", std::llround(answer.baseline.step_ns)},
      {"replay_error", answer.loop.replay.error},
      {"replayed_steps", answer.loop.replay.steps},
      {"predicted_step_ns", std::llround(predicted.step_ns)},
      {"ci95", {std::llround(predicted.ci95.low), std::llround(predicted.ci95.high)}},
      {"saves_ns", answer.loop.wall.mean - std::llround(predicted.step_ns)},
      {"exposed_before", answer.thread_sets_time ? exposed_json(answer.baseline) : Json(nullptr)},
      {"exposed_after", answer.thread_sets_time ? exposed_json(predicted) : Json(nullptr)},
      {"notes", notes}};
  return document_text(document);
}

}  // namespace stepscope
