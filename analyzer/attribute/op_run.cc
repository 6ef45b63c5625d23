#include "analyzer/attribute/op_run.h"

#include <algorithm>

#include "analyzer/attribute/nesting.h"

namespace stepscope {
namespace {

bool does_work(const BufferedOp& op) {
  return op.kind == OpClass::kWork || op.kind == OpClass::kCommunication;
}

// What is open on a thread, as attribution sees it.
class OpenOps {
 public:
  // `paths`: null if paths are not needed.
  OpenOps(std::span<const BufferedOp> ops, OpPaths* paths) : ops_(ops), paths_(paths) {
    if (paths != nullptr) path_of_.resize(ops.size(), OpPath::kTop);
  }

  void begin(std::size_t op, const OpenItems& open) {
    // User ranges are not ops, but what-if questions may name them, too.
    if (paths_ != nullptr) path_of_[op] = paths_->inside(path(open), ops_[op].name);
    all_.add(op);
    if (does_work(ops_[op])) workers_.add(op);
    if (ops_[op].kind == OpClass::kLabel) labels_.add(op);
  }
  // Innermost::kNone: there is none.
  [[nodiscard]] std::size_t worker(const OpenItems& open) { return workers_.of(open); }
  [[nodiscard]] StringId label(const OpenItems& open) {
    const std::size_t labeller = labels_.of(open);
    return labeller == Innermost::kNone ? StringId::kNone : ops_[labeller].name;
  }
  [[nodiscard]] bool labelled(const OpenItems& open) {
    return labels_.of(open) != Innermost::kNone;
  }
  // The path of the innermost op.
  [[nodiscard]] OpPath path(const OpenItems& open) {
    const std::size_t op = paths_ == nullptr ? Innermost::kNone : all_.of(open);
    return op == Innermost::kNone ? OpPath::kTop : path_of_[op];
  }

 private:
  std::span<const BufferedOp> ops_;
  OpPaths* paths_;
  Innermost all_, workers_, labels_;
  std::vector<OpPath> path_of_;  // of each op that has begun
};

}  // namespace

void sort_for_nesting(std::vector<BufferedOp>& ops) {
  std::stable_sort(ops.begin(), ops.end(), [](const BufferedOp& a, const BufferedOp& b) {
    return a.start != b.start ? a.start < b.start : a.dur > b.dur;
  });
}

std::vector<OpRun> flatten_ops(std::span<const BufferedOp> ops, TimeRange frame, Duration overhead,
                               OpPaths* paths) {
  std::vector<OpRun> runs;
  std::vector<Duration> launch_left(ops.size(), overhead);
  for (std::size_t i = 0; i < ops.size() && ops[i].start < frame.start; ++i)
    launch_left[i] = Duration(0);

  OpenOps current(ops, paths);
  for_each_nested_stretch(
      ops, frame, [](const BufferedOp& op) { return op.range(); },
      [&](std::size_t op, const OpenItems& open) { current.begin(op, open); },
      [&](TimeRange range, const OpenItems& open) {
        const std::size_t worker = current.worker(open);
        OpRun run{range, StringId::kNone, current.label(open), Category::kHost, current.path(open)};
        if (worker == Innermost::kNone) {
          if (current.labelled(open)) runs.push_back(run);
          return;
        }
        run.op = ops[worker].name;
        if (ops[worker].kind == OpClass::kCommunication) {
          run.category = Category::kCommunication;
          runs.push_back(run);
          return;
        }
        const Duration launch = std::min(launch_left[worker], range.length());
        launch_left[worker] -= launch;
        if (launch.count() > 0) {
          runs.push_back({{range.start, range.start + launch},
                          run.op,
                          run.label,
                          Category::kLaunch,
                          run.path});
        }
        if (launch < range.length()) {
          runs.push_back(
              {{range.start + launch, range.end}, run.op, run.label, Category::kCompute, run.path});
        }
      });
  return runs;
}

}  // namespace stepscope
