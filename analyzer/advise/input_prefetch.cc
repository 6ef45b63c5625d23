// Batches are prepared on the loop's thread, or fetched only on demand: let workers do that in the
// background.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analyzer/advise/loader_words.h"
#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

// Workers that compute need a core each; workers that wait for a disk or a network do not.
int most_workers(const AdviceContext& context) {
  if (context.busy_share() < 0.5 || context.cores() <= 0) return kMaxWorkers;
  return static_cast<int>(std::clamp<std::int64_t>(context.cores(), 1, kMaxWorkers));
}

}  // namespace

std::optional<AdviceFacts> input_prefetch(const AdviceContext& context) {
  const LoopUse& use = context.report.use;
  const std::string& loader = context.report.input.loader;
  const bool fetches_ahead = use.loader_processes > 0 || use.loader_threads > 0 ||
                             loader_option(loader, "num_workers").has_value();
  if (!context.input_matters() || fetches_ahead) return std::nullopt;
  const double input = context.share(Category::kInput) * context.step_ns();
  const HandOver cost = hand_over(context);
  const LeastStep least = least_step_with_workers(context);
  std::vector<double> steps;
  for (int workers = 1; workers <= most_workers(context); ++workers) {
    const auto on_workers = [&](StepGraph& graph) {
      input_on_workers(graph, workers, cost, context.report.input.inferred);
    };
    steps.push_back(std::max(context.predictor.step_ns(on_workers), least.ns()));
    if (workers > 1 && steps.back() * kAsGood > steps[steps.size() - 2]) break;
  }
  const double best = *std::min_element(steps.begin(), steps.end());
  const auto enough = std::find_if(steps.begin(), steps.end(),
                                   [best](double step) { return step <= best * kAsGood; });
  const auto wanted = static_cast<std::size_t>(enough - steps.begin()) + 1;

  AdviceFacts advice;
  advice.rule = "input-prefetch";
  advice.facts = InputPrefetch{
      .steps = steps,
      .wanted = wanted,
      .step_ns = context.step_ns(),
      .rest_ns = context.rest_ns(),
      .works = context.busy_share() >= 0.5,
      .fills_cores = steps[wanted - 1] <= least.by_cores * kAsGood,
      .cores = context.cores(),
      // If the CPU time of the run is known, so are the cores that training leaves, and the
      // prediction is not below what they allow.
      .knows_free_cores = use.cpu_ns > 0 && context.report.starvation.cores.available > 0,
      .data_loader = is_data_loader(loader)};
  advice.evidence = {EvidenceKind::kAdvice, input, "ns", waits_query(context)};
  return with_prediction(context, *enough, std::move(advice));
}

}  // namespace stepscope
