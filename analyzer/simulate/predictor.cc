#include "analyzer/simulate/predictor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analyzer/mean.h"

namespace stepscope {
namespace {

// Each prediction examines all streams. Programs have a few; those that create one per batch have
// some hundred.
constexpr std::size_t kMaxStreams = 4096;

}  // namespace

Predictor::Predictor(StepSample sample, const StepTimes& times,
                     const std::vector<std::size_t>& analysed,
                     const std::vector<std::size_t>& replayed)
    : paths_(std::move(sample.paths)) {
  std::vector<double> all;
  for (const std::size_t i : analysed) all.push_back(times.step_ns[i]);
  measured_ns_ = mean_of(all);
  std::erase_if(sample.steps, [&](const SampledStep& step) {
    return !std::binary_search(replayed.begin(), replayed.end(), step.index);
  });
  if (sample.streams.size() > kMaxStreams) {
    withheld_ = Withheld::kTooManyStreams;
    return;
  }
  if (sample.steps.empty() || measured_ns_ <= 0) {
    withheld_ = sample.too_large ? Withheld::kTooManyTasks : Withheld::kNoSteps;
    return;
  }
  RepresentativeSample representative = represent(std::move(sample.steps), times, analysed);
  measured_ = std::move(representative.measured_ns);
  weights_ = std::move(representative.weights);
  steps_ = representative.steps.size() - representative.stand_ins;
  graph_.lanes = sample.lanes;
  graph_.streams = std::move(sample.streams);
  assemble(representative.steps);
  baseline_ = summarise(replay(graph_));
  if (representative.input_gap > kMaxInputGap || representative.rest_gap > kMaxRestGap)
    withheld_ = Withheld::kUnrepresentative;
  if (replay_error() > kMaxReplayError) withheld_ = Withheld::kUnexplained;
}

// Repeats the last steps before the first, as often as needed, so that the first find the pipelines
// as they are in the middle of a run.
void Predictor::assemble(const std::vector<SampledStep>& steps) {
  std::size_t tasks = 0;
  for (const SampledStep& step : steps) tasks += step.tasks.size();
  const std::size_t affordable = std::max<std::size_t>(
      1, StepSampler::kMaxTasks * steps.size() / std::max<std::size_t>(tasks, 1));
  const std::size_t warm_up = std::min(kWarmUpReplayed, affordable);
  const std::size_t wanted = std::min(kMinReplayed, affordable);
  const std::size_t rounds = std::max<std::size_t>(1, wanted / steps.size());
  for (std::size_t i = 0; i < warm_up + rounds * steps.size(); ++i) {
    // Counts backwards from the end for the warm-up: … n-2 n-1 | 0 1 2 … n-1
    const std::size_t from = (i + steps.size() - warm_up % steps.size()) % steps.size();
    for (Task task : steps[from].tasks) {
      task.step = static_cast<std::uint32_t>(i);
      graph_.tasks.push_back(task);
    }
    graph_.steps.push_back(steps[from].index);
  }
  graph_.first_counted = warm_up;
}

double Predictor::replay_error() const {
  return measured_ns_ > 0 ? std::abs(baseline_.step_ns / measured_ns_ - 1) : 0;
}

Replay Predictor::replay_with(const Change& change) const {
  StepGraph changed = graph_;
  change(changed);
  return replay(changed);
}

Prediction Predictor::predict(const Change& change) const { return summarise(replay_with(change)); }

double Predictor::step_ns(const Change& change) const {
  const std::vector<double> times = weighted(replay_with(change));
  return std::accumulate(times.begin(), times.end(), 0.0);
}

std::vector<double> Predictor::weighted(const Replay& replayed) const {
  const std::size_t rounds = std::max<std::size_t>(1, replayed.steps.size() / measured_.size());
  std::vector<double> times(measured_.size());
  for (std::size_t i = 0; i < replayed.steps.size(); ++i) {
    const std::size_t step = i % measured_.size();
    times[step] +=
        weights_[step] * replayed.steps[i] * replayed.behind / static_cast<double>(rounds);
  }
  return times;
}

Prediction Predictor::summarise(const Replay& replayed) const {
  const std::vector<double> times = weighted(replayed);
  std::vector<double> measured;
  for (std::size_t i = 0; i < measured_.size(); ++i) measured.push_back(weights_[i] * measured_[i]);
  Prediction result;
  result.step_ns = std::accumulate(times.begin(), times.end(), 0.0);
  const Interval ratio = bootstrap_ratio(times, measured);
  result.ci95 = {ratio.low * measured_ns_, ratio.high * measured_ns_};
  for (std::size_t i = 0; i < replayed.exposed.size(); ++i) {
    for (std::size_t c = 0; c < result.exposed.size(); ++c)
      result.exposed[c] += weights_[i % weights_.size()] * replayed.exposed[i][c];
  }
  const double exposed = std::accumulate(result.exposed.begin(), result.exposed.end(), 0.0);
  for (double& ns : result.exposed) ns *= exposed > 0 ? result.step_ns / exposed : 0;
  return result;
}

}  // namespace stepscope
