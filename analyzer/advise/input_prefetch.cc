// Batches are prepared on the loop's thread, or fetched only on demand: let workers do that in the
// background.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analyzer/advise/loader_words.h"
#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

std::string workers_text(std::size_t workers) {
  return std::to_string(workers) + (workers == 1 ? " worker" : " workers");
}

// Work needs a core for each worker; a wait for a disk or a network does not.
int most_workers(const AdviceContext& context) {
  if (context.busy_share() < 0.5) return kMostWorkers;
  return static_cast<int>(std::clamp<std::int64_t>(context.cores(), 1, kMostWorkers));
}

// "58.0 ms with 1, 40.1 ms with 2": the step time with each number of workers.
std::string marginal_gains(const std::vector<double>& steps, std::size_t wanted) {
  std::string text;
  for (std::size_t workers = 1; workers < wanted; ++workers) {
    text += (text.empty() ? "" : ", ") + time_text(steps[workers - 1]) + " with " +
            std::to_string(workers);
  }
  return text;
}

std::string why(const AdviceContext& context, const std::vector<double>& steps, std::size_t wanted,
                double rest) {
  const double left = steps[wanted - 1] - rest;
  std::string text = left < 0.01 * context.step_ns()
                         ? "hides the whole wait"
                         : time_text(left) + " of the wait would remain";
  if (wanted > 1) text += "; " + marginal_gains(steps, std::min<std::size_t>(wanted, 4));
  if (context.busy_share() < 0.5) return text + ", unless something already prefetches";
  if (steps[wanted - 1] <= least_step_ns(context) * kAsGood)
    return text + (context.cores() == 1
                       ? "; the only core is then fully busy"
                       : "; all " + std::to_string(context.cores()) + " cores are then fully busy");
  // Where the CPU time of the run is known, the cores that training leaves are too, and the
  // prediction is not below what they allow.
  if (context.report.use.cpu_ns > 0 && context.report.starvation.cores.available > 0) return text;
  return text + (context.report.trains ? ", if training leaves cores free"
                                       : ", if the model leaves cores free");
}

}  // namespace

std::optional<Advice> input_prefetch(const AdviceContext& context) {
  const LoopUse& use = context.report.use;
  const std::string& loader = context.report.input.loader;
  const bool fetches_ahead = use.loader_processes > 0 || use.loader_threads > 0 ||
                             loader_option(loader, "num_workers").has_value();
  if (!context.input_matters() || fetches_ahead) return std::nullopt;
  std::vector<double> steps;
  for (int workers = 1; workers <= most_workers(context); ++workers) {
    const auto on_workers = [workers](StepGraph& graph) { input_on_workers(graph, workers); };
    steps.push_back(std::max(context.predictor.step_ns(on_workers), least_step_ns(context)));
    if (workers > 1 && steps.back() * kAsGood > steps[steps.size() - 2]) break;
  }
  const double best = *std::min_element(steps.begin(), steps.end());
  const auto enough = std::find_if(steps.begin(), steps.end(),
                                   [best](double step) { return step <= best * kAsGood; });
  const auto wanted = static_cast<std::size_t>(enough - steps.begin()) + 1;
  const double input = context.share(Category::kInput) * context.step_ns();
  const double rest = context.step_ns() - input;

  Advice advice;
  advice.rule = "input-prefetch";
  advice.title = "prefetch batches with " + workers_text(wanted);
  advice.why = why(context, steps, wanted, rest);
  if (is_data_loader(loader)) {
    advice.why +=
        ": " + loader_with("num_workers=" + std::to_string(wanted) + ", persistent_workers=True");
  }
  advice.evidence = {"a batch takes " + time_text(input) +
                         in_units(", the rest of the step ", context.report.unit()) +
                         time_text(rest),
                     input, "ns", waits_query(context)};
  return with_prediction(context, *enough, std::move(advice));
}

}  // namespace stepscope
