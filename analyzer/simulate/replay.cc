#include "analyzer/simulate/replay.h"

#include <algorithm>
#include <numeric>

namespace stepscope {
namespace {

struct LaneState {
  std::int64_t end = 0;
  Category category = Category::kHost;  // of its last task
};

// The sum, capped at the largest value: a damaged recording can have tasks that together take
// longer than 292 years.
std::int64_t plus(std::int64_t ns, std::int64_t more_ns) {
  std::int64_t sum;
  return __builtin_add_overflow(ns, more_ns, &sum) ? INT64_MAX : sum;
}

class Player {
 public:
  explicit Player(const StepGraph& graph) : graph_(graph), lanes_(graph.lanes) {}

  Replay play() {
    std::size_t position = 0;
    for (const Task& task : graph_.tasks) {
      while (position < task.step) end_step(position++);
      run(task);
    }
    while (position < graph_.steps.size()) end_step(position++);
    result_.behind = behind();
    return std::move(result_);
  }

 private:
  void run(const Task& task) {
    LaneState& lane = lanes_[task.lane];
    const std::int64_t free = lane.end;
    Category waited_for = task.category;
    std::int64_t start = free;
    if (task.awaits != kNoLane) {
      const LaneState& awaited = lanes_[task.awaits];
      start = std::max(start, plus(awaited.end, task.lag_ns));
      if (task.awaits != kLoopLane) waited_for = awaited.category;
    }
    lane.end = plus(start, task.dur_ns);
    lane.category = task.category;
    if (task.lane != kLoopLane || task.step < graph_.first_counted) return;
    const auto at = [&](Category c) -> double& { return exposed_[static_cast<std::size_t>(c)]; };
    at(waited_for) += static_cast<double>(start - free);
    at(task.category) += static_cast<double>(task.dur_ns);
  }

  void end_step(std::size_t position) {
    const std::int64_t now = lanes_[kLoopLane].end;
    if (position >= graph_.first_counted) {
      result_.steps.push_back(static_cast<double>(now - step_begin_));
      result_.exposed.push_back(exposed_);
      exposed_ = {};
    }
    step_begin_ = now;
    if (position + 1 == graph_.first_counted) {
      counted_begin_ = now;
      backlog_begin_ = backlog();
    }
  }

  // How much time the devices still need for the work that the loop has given to them.
  [[nodiscard]] std::int64_t backlog() const {
    std::int64_t most = 0;
    for (const Lane stream : graph_.streams)
      most = std::max(most, lanes_[stream].end - lanes_[kLoopLane].end);
    return most;
  }

  [[nodiscard]] double behind() const {
    const std::int64_t growth = backlog() - backlog_begin_;
    const std::int64_t advance = lanes_[kLoopLane].end - counted_begin_;
    return growth <= 0 || advance <= 0
               ? 1
               : 1 + static_cast<double>(growth) / static_cast<double>(advance);
  }

  const StepGraph& graph_;
  std::vector<LaneState> lanes_;
  std::int64_t step_begin_ = 0;
  std::int64_t counted_begin_ = 0;
  std::int64_t backlog_begin_ = 0;
  std::array<double, kCategoryCount> exposed_{};  // in the current step
  Replay result_;
};

}  // namespace

double Replay::mean() const {
  if (steps.empty()) return 0;
  return behind * std::accumulate(steps.begin(), steps.end(), 0.0) /
         static_cast<double>(steps.size());
}

Replay replay(const StepGraph& graph) { return Player(graph).play(); }

}  // namespace stepscope
