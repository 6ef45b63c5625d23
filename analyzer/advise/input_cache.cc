// The loop's thread decodes samples during its waits: cache them.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/advise/loader_words.h"
#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

constexpr double kDrawsForSamples = 1;  // per step; shuffling or seeding an epoch draws less often

// Whether an op of this name draws random numbers: all of torch's random functions call one of
// these. randperm is left out, because samplers use it.
bool draws(std::string_view op) {
  constexpr std::array<std::string_view, 6> kNames = {"aten::random_",     "aten::uniform_",
                                                      "aten::normal_",     "aten::bernoulli_",
                                                      "aten::multinomial", "aten::exponential_"};
  return std::find(kNames.begin(), kNames.end(), op) != kNames.end();
}

// Whether samples have a random part, as random crops and flips are. Random numbers from Python or
// NumPy are not drawn by ops and cannot be seen.
bool draws_for_samples(const LoopReport& report) {
  std::int64_t calls = 0;
  for (const OpRow& op : report.ops) {
    if (op.phase == phase_name(PhaseKind::kInput) && draws(op.name)) calls += op.calls;
  }
  return static_cast<double>(calls) >= kDrawsForSamples * report.op_step_count();
}

}  // namespace

std::optional<AdviceFacts> input_cache(const AdviceContext& context) {
  const double busy_share = context.busy_share();
  if (!context.input_matters() || context.report.input.inferred || busy_share < 0.5)
    return std::nullopt;
  // With workers, the loop's thread only takes over the batches that they made.
  if (loader_option(context.report.input.loader, "num_workers")) return std::nullopt;
  const auto collating = paths_inside(context.predictor.paths(), [&](StringId name) {
    return collates(context.recording.text(name));
  });
  const double busy = context.share(Category::kInput) * context.step_ns() * busy_share;
  const bool of_thread = context.report.device == DeviceId::kNone;
  const double least = of_thread ? context.step_ns() - busy : 0;
  const double predicted = std::max(least, context.predictor.step_ns([&](StepGraph& graph) {
    cache_input(graph, collating, busy_share);
  }));

  AdviceFacts advice;
  advice.rule = "input-cache";
  const bool drawn = draws_for_samples(context.report);
  advice.facts = InputCache{drawn};
  advice.evidence = {EvidenceKind::kAdvice, busy, "ns", waits_query(context)};
  if (drawn) return without_prediction(context, std::move(advice));
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope
