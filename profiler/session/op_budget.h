// Decides step by step whether ops are recorded, so that recording costs at most a given share of
// the run's time, and so that the cost of ops can be measured in the run itself.
//
// Steps come in blocks. A block has ops in all of its steps or in none. A round is a number of
// blocks of which one is different: with expensive ops, one block of the round has ops; with cheap
// ops, one block has none. The different block is drawn at random, so that neither kind falls into
// step with anything that the program does periodically.
//
// The cost of ops is the median step with ops minus the median step without, over the last
// kRemembered steps of each kind. Medians, because single steps stall. The estimate is kept within
// certain factors of what the same number of ops costs elsewhere (kCostPerOpNs), because in many
// programs steps vary by more than a few percent. The cost of the marks, of counting tensor
// memory and of recording a device, which every step has, cannot be measured in the run, so it is
// computed (kCostPerMarkNs, kCostPerAllocationNs, kCostPerLaunchNs). Ops get the rest of the
// budget, but at least kMinForOps of it.
//
// Thread safety: none; called under the session's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace stepscope {

class OpBudget {
 public:
  static constexpr std::size_t kRemembered = 64;        // steps of each kind
  static constexpr std::int64_t kFirstOpSteps = 5;      // the first steps, for short runs
  static constexpr std::int64_t kEnoughOpSteps = 30;    // at any cost, within the first 300 steps
  static constexpr std::int64_t kMaxBlocks = 200;       // in a round
  static constexpr std::int64_t kLongestBlock = 10;     // steps; half of this at the start of a run
  static constexpr std::int64_t kBlockNs = 50'000'000;  // a block of short steps lasts this long
  static constexpr double kCostPerOpNs = 200;           // from bench/hooks; varies twofold
  // Phases of a step, and the memory of a tensor, by bench/overhead/parts.py.
  static constexpr double kCostPerMarkNs = 700;
  static constexpr double kCostPerPythonMarkNs = 3000;
  static constexpr double kCostPerAllocationNs = 10;
  static constexpr double kCostPerLaunchNs = 5000;  // of work for a device, by bench/gpu
  static constexpr double kMinForOps = 0.25;

  // What was recorded in a step.
  struct Recorded {
    std::int64_t events = 0;       // ops and marks
    std::int64_t allocations = 0;  // of tensor memory
    std::int64_t launches = 0;     // on a device; known some steps later
  };

  // `budget`: the largest share of the run's time that recording may cost; above 0.
  // `cost_per_mark_ns`: kCostPerMarkNs or, if Python runs the program, kCostPerPythonMarkNs.
  OpBudget(double budget, std::uint64_t seed, double cost_per_mark_ns = kCostPerMarkNs);

  // A step has ended that took `ns`. Returns whether to record the ops of the next one.
  bool step_ended(std::int64_t ns, Recorded recorded);

  // Whether ops are recorded in the step that has begun.
  [[nodiscard]] bool wants_ops() const { return ops_; }
  // The last estimate: the extra time of a step with ops, as a share of a step without.
  [[nodiscard]] double cost() const { return cost_; }
  // The share of all time so far that recording took, according to the estimates.
  [[nodiscard]] double spent() const;
  // The share of the steps so far that had ops.
  [[nodiscard]] double op_step_share() const {
    return steps_ > 0 ? static_cast<double>(op_steps_) / static_cast<double>(steps_) : 0;
  }

 private:
  // The last steps of one kind.
  class Times {
   public:
    void add(std::int64_t ns);
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] double median() const;  // count() > 0

   private:
    std::array<std::int64_t, kRemembered> ns_{};
    std::size_t next_ = 0, count_ = 0;
  };

  void note(std::int64_t ns, Recorded recorded);
  void estimate_cost();
  void begin_block();
  void begin_round();
  [[nodiscard]] double budget_of_ops() const;
  [[nodiscard]] double wanted_share() const;
  [[nodiscard]] bool stands_out(std::int64_t ns) const;

  const double budget_, cost_per_mark_ns_;
  std::minstd_rand random_;
  Times with_ops_, without_;
  double usual_ns_ = 0;  // the median of without_ at the last estimate; 0: none yet
  bool ops_ = true;
  double ops_a_step_ = 0, marks_a_step_ = 0;  // recent means
  double cost_ = 0;
  std::int64_t steps_ = 0, op_steps_ = 0;
  double total_ns_ = 0, op_steps_ns_ = 0;  // of all steps, and of those with ops
  double always_ns_ = 0;                   // what marks, tensor memory and launches cost
  bool wants_detail_ = false;              // a step stood out: the next block has ops
  std::int64_t left_in_block_;             // steps
  std::int64_t blocks_ = 0;                // of the current round
  std::int64_t block_ = 0;                 // its current block
  std::int64_t different_ = 0;             // the block that differs
  bool differs_by_ops_ = true;             // true: it has ops and the others have none
};

}  // namespace stepscope
