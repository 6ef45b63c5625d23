#include "present/report_tables_json.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "analyzer/words.h"
#include "present/json_value.h"

namespace stepscope {

Json scopes_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.scopes.size()); ++i) {
    const ScopeRow& scope = loop.scopes[i];
    json.push_back({{"name", scope.name}, {"calls", scope.calls}, {"total_ns", scope.total_ns}});
  }
  return json;
}

Json ops_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.ops.size()); ++i) {
    const OpRow& op = loop.ops[i];
    json.push_back({{"name", op.name},
                    {"phase", op.phase},
                    {"calls", op.calls},
                    {"self_ns", op.self_ns},
                    {"launch_ns", op.launch_ns}});
  }
  return json;
}

namespace {

// Of the times of a step under a label, the longest kMaxLabels have a row each. The others count
// without their labels: a program may give each scope a name of its own, thousands in a step.
std::vector<StepTime> with_few_labels(std::vector<StepTime> times) {
  constexpr std::size_t kMaxLabels = 20;
  std::vector<Duration> labelled;
  for (const StepTime& time : times) {
    if (!time.label.empty()) labelled.push_back(time.exposed);
  }
  if (labelled.size() <= kMaxLabels) return times;
  const auto last = labelled.begin() + kMaxLabels;
  std::nth_element(labelled.begin(), last, labelled.end(), std::greater<>());
  const auto is_kept = [limit = *last](const StepTime& time) {
    return time.label.empty() || time.exposed > limit;
  };
  const auto others = std::stable_partition(times.begin(), times.end(), is_kept);
  std::vector<StepTime> kept(times.begin(), others);
  for (auto other = others; other != times.end(); ++other) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const StepTime& time) {
      return time.label.empty() && time.category == other->category && time.phase == other->phase &&
             time.device == other->device;
    });
    if (same != kept.end()) {
      same->exposed += other->exposed;
    } else {
      kept.emplace_back(*other).label.clear();
    }
  }
  return kept;
}

}  // namespace

Json slowest_json(const LoopReport& loop, std::size_t top) {
  std::vector<std::size_t> order = loop.analysed;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return loop.steps[a].dur > loop.steps[b].dur;
  });
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) {
    const Step& step = loop.steps[order[i]];
    Json times = Json::array();
    for (const StepTime& time : with_few_labels(step.times)) {
      times.push_back({{"category", category_name(time.category)},
                       {"phase", phase_name(time.phase)},
                       {"label", or_null(time.label)},
                       {"ns", to_ns(time.exposed)}});
    }
    json.push_back({{"number", step.number},
                    {"start_ns", to_ns(step.start)},
                    {"wall_ns", to_ns(step.dur)},
                    {"kind", step.kinds.empty() ? Json(nullptr) : Json(step.kinds.front().kind)},
                    {"times", times}});
  }
  return json;
}

Json kernels_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.kernels.size()); ++i) {
    const KernelRow& kernel = loop.kernels[i];
    json.push_back(
        {{"name", kernel.name},
         {"phase", kernel.phase},
         {"calls", kernel.calls},
         {"total_ns", kernel.total_ns},
         {"occupancy", kernel.occupancy ? Json(*kernel.occupancy) : Json(nullptr)},
         {"tensor_cores", kernel.tensor_cores ? Json(*kernel.tensor_cores) : Json(nullptr)}});
  }
  return json;
}

Json copies_json(const LoopReport& loop, std::size_t top) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(top, loop.copies.size()); ++i) {
    const CopyRow& copy = loop.copies[i];
    json.push_back({{"direction", copy_kind_name(copy.kind)},
                    {"source", memory_kind_name(copy.source)},
                    {"target", memory_kind_name(copy.target)},
                    {"stream", copy.stream},
                    {"calls", copy.calls},
                    {"bytes", copy.bytes},
                    {"total_ns", copy.total_ns},
                    {"beside_kernels_ns", copy.kernel_ns}});
  }
  return json;
}

}  // namespace stepscope
