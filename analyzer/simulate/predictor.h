// Predicts the step time of a loop under a change: replays a sample of steps with the change,
// scaled to all analysed steps.
//
// Predicts nothing if these steps are unlike the others, or if replaying them unchanged does not
// reproduce the measured time: then the graph does not explain the step time.
//
// Thread safety: predict() may be called from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts/withheld.h"
#include "analyzer/simulate/replay.h"
#include "analyzer/simulate/represent.h"
#include "analyzer/simulate/step_sampler.h"
#include "analyzer/verdict/bootstrap.h"

namespace stepscope {

inline constexpr double kMaxReplayError = 0.02;  // of the measured step
// How far the steps that can be replayed may be from those that they represent, relative to the
// mean step. Rounds of the same program differ by more than the second.
inline constexpr double kMaxInputGap = 0.1;
inline constexpr double kMaxRestGap = 0.2;
inline constexpr std::size_t kWarmUpReplayed = 32;  // steps, so that batch queues fill
// After them at least this many are replayed, a short sample several times, because workers deliver
// in turn.
inline constexpr std::size_t kMinReplayed = 128;

struct Prediction {
  double step_ns = 0;
  Interval ci95;  // over the replayed steps
  // What the loop's thread would spend it on, in ns per step; sums to step_ns.
  std::array<double, kCategoryCount> exposed{};
};

// A change to the graph.
using Change = std::function<void(StepGraph&)>;

class Predictor {
 public:
  Predictor() = default;  // predicts nothing: no steps

  // `times`: of each step of the loop; `analysed`: the indexes of the steps to predict, `replayed`:
  // of those that may be replayed for it, both in order. The two are the same unless ops were
  // recorded in some steps only.
  Predictor(StepSample sample, const StepTimes& times, const std::vector<std::size_t>& analysed,
            const std::vector<std::size_t>& replayed);
  Predictor(StepSample sample, const StepTimes& times, const std::vector<std::size_t>& analysed)
      : Predictor(std::move(sample), times, analysed, analysed) {}

  // Why nothing can be predicted.
  [[nodiscard]] Withheld withheld() const { return withheld_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }         // replayed, no stand-ins
  [[nodiscard]] double measured_ns() const { return measured_ns_; }  // mean of all analysed
  [[nodiscard]] double replayed_ns() const { return baseline_.step_ns; }
  [[nodiscard]] double replay_error() const;  // relative
  [[nodiscard]] const Prediction& baseline() const { return baseline_; }

  // Only when nothing is withheld().
  [[nodiscard]] Prediction predict(const Change& change) const;
  [[nodiscard]] double step_ns(const Change& change) const;  // the same without an interval, faster

  [[nodiscard]] const OpPaths& paths() const { return paths_; }
  [[nodiscard]] const StepGraph& graph() const { return graph_; }

 private:
  void assemble(const std::vector<SampledStep>& steps);
  [[nodiscard]] Replay replay_with(const Change& change) const;
  [[nodiscard]] std::vector<double> weighted(const Replay& replayed) const;  // by step
  [[nodiscard]] Prediction summarise(const Replay& replayed) const;

  OpPaths paths_;
  StepGraph graph_;
  std::size_t steps_ = 0;
  std::vector<double> measured_;  // of the replayed steps and stand-ins, ns
  std::vector<double> weights_;   // of their times, so that they represent all analysed steps
  double measured_ns_ = 0;
  Prediction baseline_;
  Withheld withheld_ = Withheld::kNothing;
};

}  // namespace stepscope
