// The program's own times, from steps with and without ops.
//
// Recording ops makes a step longer. So the times of a step and of its phases come from the steps
// without ops; how a phase divides into compute, launch, host and scopes comes from the steps with
// ops, after the cost of recording them has been subtracted. That cost is measured in the run: the
// lower quartile of the phase with ops minus that of the phase without.
//
// Where the cost of an op falls: the callbacks run outside the op's own measured time, so the cost
// of a nested op makes its parent longer, and that of an outermost op makes the time between ops
// longer. Recorded calls of modules (docs/modules.md) also make the time between ops longer.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/attribute/segment.h"
#include "analyzer/attribute/span.h"
#include "analyzer/attribute/step_account.h"
#include "analyzer/steps/loop_parts.h"

namespace stepscope {

// A stretch of a step as marks alone show it, which is the same with and without ops.
struct MarkedPhase {
  PhaseKind phase = PhaseKind::kNone;
  bool before_backward = false;
  StringId label = StringId::kNone;

  friend auto operator<=>(const MarkedPhase&, const MarkedPhase&) = default;
};

MarkedPhase marked_phase(const Span& span);

using MarkedTimes = std::vector<std::pair<MarkedPhase, Duration>>;
// How long each marked phase of a step is: the sum over its spans.
MarkedTimes marked_times(std::span<const Span> spans);

// Recording a call of a module costs as much as this many ops: an estimate, from 2.3 µs per call
// with marks that do nothing.
inline constexpr double kOpsPerModuleCall = 8;

// What recording ops cost.
struct OpsCost {
  std::int64_t op_steps = 0, plain_steps = 0;  // steps that it was measured on
  double per_step_ns = 0;                      // at least 0
  double plain_step_ns = 0;                    // the lower quartile of the steps without ops

  [[nodiscard]] double share() const { return plain_step_ns > 0 ? per_step_ns / plain_step_ns : 0; }
};

class PhaseSplit {
 public:
  // `most_per_op`: an upper bound of the cost of recording an op, however much its step was
  // disturbed.
  explicit PhaseSplit(Duration most_per_op)
      : most_per_op_ns_(static_cast<double>(to_ns(most_per_op))) {}

  // Adds a step with ops: first its marked phases, then each of its segments with the phase around
  // it.
  void begin_op_step(const MarkedTimes& times);
  void add(const MarkedPhase& phase, const Segment& segment);
  // Adds an op that began in `phase`; `nested`: inside another op.
  void add_op(const MarkedPhase& phase, bool nested);
  // Adds a call of a module that was recorded in `phase`.
  void add_module_call(const MarkedPhase& phase);
  // Adds a step without ops.
  void add_plain_step(const MarkedTimes& times);

  // Call it after all steps were added, and before the functions below.
  void finish();

  [[nodiscard]] const OpsCost& cost() const { return cost_; }
  // The account of a step without ops: each marked phase divides as in the steps with ops. A phase
  // that these never had counts as its kind says: compute, or the program's own code. The sum is
  // that of `times`, to the nanosecond.
  [[nodiscard]] StepAccount account(const MarkedTimes& times) const;
  // Where the phases of that account probably lie in the step. In each wait, forward pass and so
  // on, they come in the order in which steps with ops have them. `spans`: of the step, from marks.
  [[nodiscard]] std::vector<LoopStretch> stretches(std::span<const Span> spans) const;
  // In steps with ops, the part of a category's time in a phase that is not the cost of recording.
  [[nodiscard]] double net_share(Category category, PhaseKind phase) const;

 private:
  struct Part {
    StepAccount account;  // sums over the steps with ops
    std::int64_t outer_ops = 0, nested_ops = 0, module_calls = 0;
    std::vector<double> with_ops, without;  // times of the phase in the steps that have it, ns
    std::vector<double> net;                // of each slice: its time without the cost of recording

    // What was recorded, as the number of ops that would cost as much.
    [[nodiscard]] double recorded() const {
      return static_cast<double>(outer_ops + nested_ops) +
             kOpsPerModuleCall * static_cast<double>(module_calls);
    }
  };
  Part& part(const MarkedPhase& phase);
  // nullptr: no step with ops had it.
  [[nodiscard]] const Part* find(const MarkedPhase& phase) const;
  // Adds each time to `list` of its part. Returns the sum in ns.
  double add_times(const MarkedTimes& times, std::vector<double> Part::* list);
  void remove_cost(Part& part) const;

  const double most_per_op_ns_;
  std::map<MarkedPhase, Part> parts_;
  std::vector<double> op_steps_, plain_steps_;                                // ns
  std::map<std::pair<Category, PhaseKind>, std::pair<double, double>> kept_;  // net, all
  OpsCost cost_;
};

}  // namespace stepscope
