// Ops that ran on the CPU in a loop that has a device: their data was never moved to the device, or
// was copied back.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/advise/rules.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {
namespace {

// An op that runs longer on the host, launches nothing and calls no device API is a computation.
constexpr double kLongest = 20'000;  // ns per call

// Memory for a tensor of the device comes from PyTorch's own cache, so these call no device API
// either.
bool only_allocates(std::string_view name) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"aten::empty", "aten::new_empty",
                                                         "aten::resize_"};
  return std::ranges::any_of(kPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// Paths inside or around which the device API was called.
PathFlags on_device(const AdviceContext& context) {
  const OpPaths& paths = context.predictor.paths();
  PathFlags flags(paths.size(), false);
  for (const Task& task : context.predictor.graph().tasks) {
    if (task.kind == TaskKind::kHost || task.kind == TaskKind::kWait) continue;
    for (OpPath path = task.path; path != OpPath::kTop; path = paths.parent(path)) {
      if (flags[static_cast<std::size_t>(path)]) break;  // and so is everything around it
      flags[static_cast<std::size_t>(path)] = true;
    }
  }
  return flags;
}

// The self time of each path on the host, in ns over all replayed steps.
std::vector<double> host_ns(const AdviceContext& context) {
  std::vector<double> times(context.predictor.paths().size(), 0);
  for (const Task& task : context.predictor.graph().tasks) {
    if (task.kind != TaskKind::kHost || task.category != Category::kCompute) continue;
    if (task.phase == PhaseKind::kInput) continue;
    times[static_cast<std::size_t>(task.path)] += static_cast<double>(task.dur_ns);
  }
  return times;
}

struct CpuOps {
  PathFlags paths;
  std::map<std::string_view, double> names;  // ns a step
};

CpuOps cpu_ops(const AdviceContext& context) {
  std::map<std::string_view, double> mean;  // own time of a call
  for (const OpRow& op : context.report.ops) {
    double& longest = mean[op.name];
    longest = std::max(longest, static_cast<double>(op.self_ns) /
                                    static_cast<double>(std::max<std::int64_t>(op.calls, 1)));
  }
  const PathFlags device = on_device(context);
  const std::vector<double> times = host_ns(context);
  const OpPaths& paths = context.predictor.paths();
  const auto steps = static_cast<double>(context.predictor.graph().steps.size());
  CpuOps ops{PathFlags(paths.size(), false), {}};
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const std::string_view name = context.recording.text(paths.name(static_cast<OpPath>(i)));
    const bool computes = name.starts_with("aten::") && !only_allocates(name);
    if (device[i] || times[i] <= 0 || mean[name] < kLongest || !computes) continue;
    ops.paths[i] = true;
    ops.names[name] += times[i] / steps;
  }
  return ops;
}

}  // namespace

std::optional<AdviceFacts> ops_on_cpu(const AdviceContext& context) {
  if (context.predictor.graph().streams.empty()) return std::nullopt;
  const CpuOps ops = cpu_ops(context);
  if (ops.names.empty()) return std::nullopt;
  const auto most =
      std::max_element(ops.names.begin(), ops.names.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const double predicted =
      context.predictor.step_ns([&](StepGraph& graph) { remove_ops(graph, ops.paths); });

  AdviceFacts advice;
  advice.rule = "ops-on-cpu";
  advice.facts =
      OpsOnCpu{std::string(most->first), static_cast<std::int64_t>(ops.names.size()) - 1};
  advice.evidence = {EvidenceKind::kAdvice, most->second, "ns",
                     "SELECT name, phase, calls, self_ns FROM op_stats WHERE name NOT IN (SELECT "
                     "name FROM op_device_stats) ORDER BY self_ns DESC"};
  return with_prediction(context, predicted, std::move(advice));
}

}  // namespace stepscope
