// Selects steps of a loop for replay during the sweep of attribution, and records them as tasks.
//
// Memory: at most kMaxTasks tasks of at most kMaxSteps steps; with kFewSteps large steps, four
// times as many. Beyond that, every second block of kBlockSteps neighbours is dropped, and from
// then on half as many blocks are taken: the replayed steps stay spread over the run, however long
// it is. Neighbours are taken together because one step may defer work to the next. If that would
// leave fewer than kMinBlocks blocks, each block loses half of its steps instead.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analyzer/attribute/sweep.h"
#include "analyzer/simulate/step_graph.h"

namespace stepscope {

struct SampledStep {
  std::size_t index = 0;  // of the loop
  TimeRange range;
  std::vector<Task> tasks;  // Task::step is not set yet
};

struct StepSample {
  std::vector<SampledStep> steps;  // in order
  OpPaths paths;
  Lane lanes = kFirstFreeLane;
  std::vector<Lane> streams;  // lanes of devices
  bool too_large = false;     // a step had more than four times kMaxTasks tasks
};

class StepSampler : public FrameObserver {
 public:
  // Each piece of advice replays all tasks: 5 ms, or 20 ms with large steps.
  static constexpr std::size_t kMaxTasks = std::size_t{1} << 16;
  static constexpr std::size_t kFewSteps = 16;
  static constexpr std::size_t kMaxSteps = 512;
  static constexpr std::size_t kBlockSteps = 8;
  static constexpr std::size_t kMinBlocks = 4;

  // `eligible(step, ops_recorded)`: whether the step may be taken.
  explicit StepSampler(std::function<bool(std::size_t, bool)> eligible,
                       std::size_t most_tasks = kMaxTasks)
      : eligible_(std::move(eligible)), most_tasks_(most_tasks) {}

  OpPaths* paths_for(std::size_t step, bool ops_recorded) override;
  void on_frame(std::size_t step, const Frame& frame) override;

  // Takes the sample out. No other method may be called after it.
  StepSample finish();

 private:
  void begin_step(std::size_t step, bool ops_recorded);
  void end_step();
  void add_instant(const Instant& instant, TimeRange range);
  void add_piece(Lane lane, TimeRange range, const Segment& segment, OpPath path, Lane awaits);
  void end_wait(SessionTime now, const Segment& segment);
  [[nodiscard]] bool in_sample(std::size_t ordinal) const;
  [[nodiscard]] std::size_t hard_limit() const { return 4 * most_tasks_; }
  [[nodiscard]] bool takes_too_much() const;
  [[nodiscard]] std::size_t blocks() const;  // of which steps are held
  void thin_out();

  std::function<bool(std::size_t, bool)> eligible_;
  std::size_t most_tasks_;
  StepSample sample_;
  std::vector<std::size_t> ordinals_;  // of sample_.steps: the ordinal among the eligible steps
  std::size_t next_ordinal_ = 0;
  std::size_t tasks_ = 0;                               // of whole steps
  std::size_t stride_ = 1;                              // one block in stride_ is taken,
  std::size_t of_block_ = kBlockSteps;                  // and this many of its steps
  std::size_t current_ = static_cast<std::size_t>(-1);  // the step last queried
  bool taking_ = false;
  SweepState state_;
  Lane waits_for_ = kNoLane;  // what the loop's lane is waiting for
  Segment waited_;            // and how that is categorised
  bool helper_runs_[kFirstFreeLane] = {};
};

}  // namespace stepscope
