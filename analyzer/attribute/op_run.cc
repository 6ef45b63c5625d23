#include "analyzer/attribute/op_run.h"

#include <algorithm>

#include "analyzer/attribute/nesting.h"

namespace stepscope {
namespace {

// The innermost op that does work; `open` holds indexes, the innermost last. npos: none.
constexpr std::size_t kNoOp = static_cast<std::size_t>(-1);

std::size_t innermost(std::span<const BufferedOp> ops, const std::vector<std::size_t>& open,
                      bool label) {
  for (std::size_t i = open.size(); i-- > 0;) {
    const OpClass kind = ops[open[i]].kind;
    if (label ? kind == OpClass::kLabel
              : (kind == OpClass::kWork || kind == OpClass::kCommunication)) {
      return open[i];
    }
  }
  return kNoOp;
}

// User ranges are no ops, but a name that one may ask for too.
OpPath path_of(std::span<const BufferedOp> ops, const std::vector<std::size_t>& open,
               OpPaths& paths) {
  OpPath path = OpPath::kTop;
  for (const std::size_t i : open) path = paths.inside(path, ops[i].name);
  return path;
}

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

  const auto range_of = [](const BufferedOp& op) { return op.range(); };
  for_each_nested_stretch(
      ops, frame, range_of, [&](TimeRange range, const std::vector<std::size_t>& open) {
        const std::size_t worker = innermost(ops, open, false);
        const std::size_t labeller = innermost(ops, open, true);
        OpRun run{range, StringId::kNone, StringId::kNone, Category::kHost, OpPath::kTop};
        if (labeller != kNoOp) run.label = ops[labeller].name;
        if (paths != nullptr) run.path = path_of(ops, open, *paths);
        if (worker == kNoOp) {
          if (labeller != kNoOp) runs.push_back(run);
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
