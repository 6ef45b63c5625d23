#include "analyzer/simulate/what_if.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "store/limits.h"

namespace stepscope {
namespace {

bool on_device(const Task& task) {
  return task.kind == TaskKind::kKernel || task.kind == TaskKind::kCopy ||
         task.kind == TaskKind::kMemset;
}

bool has(const PathFlags& flags, OpPath path) { return flags[static_cast<std::size_t>(path)]; }

bool is_input(const Task& task) {
  return task.lane == kLoopLane && task.category == Category::kInput;
}

// What a thread did since the last removed task, as long as it is only code between ops.
struct Between {
  bool after_removed = false;
  std::vector<Task*> gaps;

  void end_at_removed() {
    if (after_removed) {
      for (Task* gap : gaps) gap->dur_ns = 0;
    }
    gaps.clear();
    after_removed = true;
  }
};

// Whether the tasks of a graph, given one after the other, belong to some times.
class TaskTimes {
 public:
  explicit TaskTimes(const std::vector<TimeRange>& times) : times_(times) {}

  bool contain(const Task& task) {
    if (on_device(task)) return last_;  // it comes right after the call that launched it
    const SessionTime start = session_time(task.start_ns);
    const auto after = std::partition_point(times_.begin(), times_.end(),
                                            [=](TimeRange time) { return time.end <= start; });
    last_ = after != times_.end() && after->start <= start;
    return last_;
  }

 private:
  const std::vector<TimeRange>& times_;
  bool last_ = false;  // of the last task of a thread
};

// "LogSoftmax" for "aten::_log_softmax" and "aten::log_softmax_"; empty if it is not an aten op.
std::string node_of_op(std::string_view op) {
  constexpr std::string_view kAten = "aten::";
  if (!op.starts_with(kAten)) return "";
  std::string node;
  bool begins = true;
  for (const char c : op.substr(kAten.size())) {
    if (c != '_')
      node += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return node;
}

// "LogSoftmax" for "LogSoftmaxBackward0", also after the engine's "…evaluate_function: ".
std::string node_of_backward(std::string_view name) {
  constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";
  if (name.starts_with(kEvaluate)) name.remove_prefix(kEvaluate.size());
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0)
    name.remove_suffix(1);
  constexpr std::string_view kBackward = "Backward";
  if (!name.ends_with(kBackward)) return "";
  return std::string(name.substr(0, name.size() - kBackward.size()));
}

// Tells where the wait for a batch begins.
class NextBatch {
 public:
  explicit NextBatch(bool one_a_step) : one_a_step_(one_a_step) {}

  // Call for each task in turn.
  bool begins_with(const Task& task) {
    const bool begins = is_input(task) && !open_ && !(one_a_step_ && step_ == task.step);
    if (begins) step_ = task.step;
    if (task.lane == kLoopLane) open_ = is_input(task);
    return begins;
  }

 private:
  bool one_a_step_;
  bool open_ = false;
  std::optional<std::uint32_t> step_;  // of the last one
};

// The waits for a batch, each with everything that the loop's thread did in it.
class Waits {
 public:
  Waits(const std::vector<Task>& tasks, NextBatch next) {
    for (const Task& task : tasks) {
      if (next.begins_with(task)) lengths_.push_back(0);
      if (is_input(task)) lengths_.back() += task.dur_ns;
    }
  }
  [[nodiscard]] std::size_t count() const { return lengths_.size(); }
  [[nodiscard]] std::int64_t length(std::size_t batch) const { return lengths_[batch]; }

 private:
  std::vector<std::int64_t> lengths_;
};

// Rewrites a graph so that workers fill slots and the loop takes the batches out of them.
class WorkerPool {
 public:
  WorkerPool(StepGraph& graph, int workers, HandOver hand_over, NextBatch next)
      : graph_(graph), hand_over_(hand_over), next_(next), waits_(graph.tasks, next) {
    for (int i = 0; i < workers; ++i) workers_.push_back(add_lane(graph));
    for (int i = 0; i < 2 * workers; ++i) slots_.push_back(add_lane(graph));
  }

  void rewrite() {
    const std::vector<Task> tasks = std::move(graph_.tasks);
    graph_.tasks.clear();
    graph_.tasks.reserve(tasks.size() + 4 * waits_.count());
    // The queues begin empty: the question is whether they fill.
    const auto first = std::find_if(tasks.begin(), tasks.end(), is_input);
    for (std::size_t i = 0; i < std::min(slots_.size(), waits_.count()); ++i) prepare(*first, i);
    std::size_t batch = 0;
    for (const Task& task : tasks) {
      if (next_.begins_with(task)) {
        take(task, batch++);
      } else if (!is_input(task)) {
        graph_.tasks.push_back(task);
      }
    }
  }

 private:
  // The loop takes a batch. Its slot is then free, and a worker begins the next batch for that
  // slot.
  void take(const Task& wait, std::size_t batch) {
    Task taking = wait;
    taking.kind = TaskKind::kWait;
    taking.dur_ns = 0;
    taking.awaits = slots_[batch % slots_.size()];
    graph_.tasks.push_back(taking);
    if (hand_over_.loop_ns > 0) {
      Task receiving = wait;
      receiving.kind = TaskKind::kHost;
      receiving.dur_ns = hand_over_.loop_ns;
      graph_.tasks.push_back(receiving);
    }
    if (batch + slots_.size() < waits_.count()) prepare(wait, batch + slots_.size());
  }

  void prepare(const Task& wait, std::size_t batch) {
    Task work = wait;
    work.kind = TaskKind::kHost;
    work.lane = workers_[batch % workers_.size()];
    work.awaits = kLoopLane;
    work.dur_ns = waits_.length(batch) + hand_over_.worker_ns;
    graph_.tasks.push_back(work);
    Task filled = work;
    filled.kind = TaskKind::kWait;
    filled.awaits = work.lane;
    filled.lane = slots_[batch % slots_.size()];
    filled.dur_ns = 0;
    graph_.tasks.push_back(filled);
  }

  StepGraph& graph_;
  const HandOver hand_over_;
  NextBatch next_;
  Waits waits_;
  std::vector<Lane> workers_;
  std::vector<Lane> slots_;
};

}  // namespace

std::int64_t scaled(std::int64_t ns, double factor) {
  return std::llround(std::min(static_cast<double>(ns) * factor, static_cast<double>(kMaxInAll)));
}

PathFlags paths_inside(const OpPaths& paths, const std::function<bool(StringId)>& matches) {
  PathFlags flags(paths.size(), false);
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const auto path = static_cast<OpPath>(i);
    flags[i] = has(flags, paths.parent(path)) || matches(paths.name(path));
  }
  return flags;
}

void scale_ops(StepGraph& graph, const PathFlags& ops, double factor) {
  const bool launches = std::any_of(graph.tasks.begin(), graph.tasks.end(), [&](const Task& task) {
    return on_device(task) && has(ops, task.path);
  });
  for (Task& task : graph.tasks) {
    if (!has(ops, task.path)) continue;
    const bool keeps = launches ? !on_device(task) : task.category == Category::kLaunch;
    if (!keeps) task.dur_ns = scaled(task.dur_ns, factor);
  }
}

void scale_host_ops(StepGraph& graph, PhaseKind phase, const PathFlags& ops, double factor) {
  for (Task& task : graph.tasks) {
    if (task.kind == TaskKind::kHost && task.phase == phase && has(ops, task.path) &&
        task.category != Category::kLaunch) {
      task.dur_ns = scaled(task.dur_ns, factor);
    }
  }
}

void remove_ops(StepGraph& graph, const PathFlags& ops) {
  std::vector<Between> lanes(graph.lanes);
  for (Task& task : graph.tasks) {
    Between& between = lanes[task.lane];
    if (has(ops, task.path)) {
      task.dur_ns = 0;
      between.end_at_removed();
    } else if (task.kind == TaskKind::kHost && task.category == Category::kHost) {
      between.gaps.push_back(&task);
    } else {
      between = {};
    }
  }
}

void scale_times(StepGraph& graph, const std::vector<TimeRange>& times, double factor) {
  TaskTimes inside(times);
  for (Task& task : graph.tasks) {
    if (inside.contain(task) && (factor == 0 || task.category != Category::kLaunch))
      task.dur_ns = scaled(task.dur_ns, factor);
  }
}

PathFlags paths_only_at(const StepGraph& graph, const OpPaths& paths,
                        const std::vector<TimeRange>& times) {
  PathFlags at(paths.size(), false), elsewhere(paths.size(), false);
  TaskTimes inside(times);
  for (const Task& task : graph.tasks)
    (inside.contain(task) ? at : elsewhere)[static_cast<std::size_t>(task.path)] = true;
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = i > 0 && at[i] && !elsewhere[i];
  return at;
}

PathFlags backward_of(const StepGraph& graph, const OpPaths& paths, const PathFlags& ops,
                      const std::function<std::string_view(StringId)>& text) {
  PathFlags forward(paths.size(), false);
  for (const Task& task : graph.tasks) {
    if (task.phase != PhaseKind::kForward) continue;
    for (OpPath path = task.path; path != OpPath::kTop && !has(forward, path);
         path = paths.parent(path))
      forward[static_cast<std::size_t>(path)] = true;
  }
  std::set<std::string> inside, outside;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const auto path = static_cast<OpPath>(i);
    if (forward[i]) (has(ops, path) ? inside : outside).insert(node_of_op(text(paths.name(path))));
  }
  return paths_inside(paths, [&](StringId name) {
    const std::string node = node_of_backward(text(name));
    return !node.empty() && inside.contains(node) && !outside.contains(node);
  });
}

bool collates(std::string_view op) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "aten::stack", "aten::cat", "aten::index_select", "aten::gather", "aten::index"};
  return std::find(kNames.begin(), kNames.end(), op) != kNames.end();
}

void cache_input(StepGraph& graph, const PathFlags& collating, double busy_share) {
  for (Task& task : graph.tasks) {
    if (is_input(task) && !has(collating, task.path))
      task.dur_ns = scaled(task.dur_ns, 1 - std::clamp(busy_share, 0.0, 1.0));
  }
}

void input_on_workers(StepGraph& graph, int workers, HandOver hand_over, bool one_batch_a_step) {
  WorkerPool(graph, workers, hand_over, NextBatch(one_batch_a_step)).rewrite();
}

void remove_launches(StepGraph& graph, const std::function<bool(PhaseKind)>& in_phase) {
  for (Task& task : graph.tasks) {
    if (!on_device(task) && task.category == Category::kLaunch && in_phase(task.phase))
      task.dur_ns = 0;
  }
}

void launch_as_graph(StepGraph& graph) {
  constexpr std::int64_t kGraphLatency = 1'000;  // ns
  const auto outside_input = [](PhaseKind phase) { return phase != PhaseKind::kInput; };
  remove_launches(graph, outside_input);
  for (Task& task : graph.tasks) {
    if (on_device(task) && outside_input(task.phase))
      task.lag_ns = std::min(task.lag_ns, kGraphLatency);
  }
}

void remove_syncs(StepGraph& graph) {
  for (Task& task : graph.tasks) {
    if (!task.synchronises || task.pageable_to_device) continue;
    task.awaits = kNoLane;
    task.dur_ns = 0;
  }
}

void pin_copies(StepGraph& graph) {
  constexpr double kAtLeastFaster = 2;
  constexpr std::int64_t kMinBytes = 1 << 20;  // smaller copies say nothing about bandwidth
  double fastest = 0;                          // bytes/ns
  for (const Task& task : graph.tasks) {
    if (task.pinned_to_device && task.bytes >= kMinBytes && task.dur_ns > 0)
      fastest =
          std::max(fastest, static_cast<double>(task.bytes) / static_cast<double>(task.dur_ns));
  }
  for (Task& task : graph.tasks) {
    if (!task.pageable_to_device) continue;
    if (task.kind != TaskKind::kCopy) {  // the end of its call
      task.awaits = kNoLane;
      task.dur_ns = 0;
      continue;
    }
    task.lag_ns = std::min(task.lag_ns, kUsualLatency);
    if (fastest > 0) {
      task.dur_ns = std::min(task.dur_ns, scaled(task.bytes, 1 / fastest));
    } else {
      task.dur_ns = scaled(task.dur_ns, 1 / kAtLeastFaster);
    }
  }
}

void remove_host_time(StepGraph& graph, PhaseKind phase) {
  for (Task& task : graph.tasks) {
    if (task.kind == TaskKind::kHost && task.category == Category::kHost && task.phase == phase)
      task.dur_ns = 0;
  }
}

void shorten_loop_ops(StepGraph& graph, double ns) {
  const auto is_loop_op = [](const Task& task) {
    return task.kind == TaskKind::kHost && task.lane == kLoopLane && task.path != OpPath::kTop &&
           task.phase != PhaseKind::kInput;
  };
  double total = 0;
  for (const Task& task : graph.tasks)
    total += is_loop_op(task) ? static_cast<double>(task.dur_ns) : 0;
  const double left = total - ns * static_cast<double>(graph.steps.size());
  if (total <= 0) return;
  for (Task& task : graph.tasks) {
    if (is_loop_op(task)) task.dur_ns = scaled(task.dur_ns, std::max(left, 0.0) / total);
  }
}

void scale_loop_work(StepGraph& graph, const PathFlags& ops, double factor, double factor_of_ops) {
  for (Task& task : graph.tasks) {
    const bool computes = on_device(task) || task.category == Category::kCompute;
    if (computes && task.phase != PhaseKind::kInput)
      task.dur_ns = scaled(task.dur_ns, has(ops, task.path) ? factor_of_ops : factor);
  }
}

void share_fixed_costs(StepGraph& graph, const PathFlags& fixed, int samples) {
  for (Task& task : graph.tasks) {
    if (on_device(task) || task.phase == PhaseKind::kInput) continue;
    const bool own_code = task.category == Category::kHost || task.category == Category::kLaunch;
    if (own_code || has(fixed, task.path)) task.dur_ns /= samples;
  }
}

bool is_short_gap(const Task& task, std::int64_t most_ns) {
  return task.kind == TaskKind::kHost && task.lane == kLoopLane && task.path == OpPath::kTop &&
         task.category == Category::kHost && task.phase != PhaseKind::kInput &&
         task.dur_ns <= most_ns;
}

void scale_short_gaps(StepGraph& graph, std::int64_t most_ns, double factor) {
  for (Task& task : graph.tasks) {
    if (is_short_gap(task, most_ns)) task.dur_ns = scaled(task.dur_ns, factor);
  }
}

}  // namespace stepscope
