// What the advice rules know about a loop, and the helpers they share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report.h"
#include "analyzer/simulate/predictor.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {

inline constexpr double kMinInputShare = 0.05;  // below it, no advice about input
inline constexpr int kMaxWorkers = 16;          // the most workers of a loader that advice tries
inline constexpr double kAsGood = 1.01;         // up to this × the best step counts as the best
inline constexpr double kMinSaving = 0.02;      // of the step; below it, no advice at all

struct AdviceContext {
  const LoopReport& report;
  const Predictor& predictor;  // it can predict
  const RecordedRun& recording;

  [[nodiscard]] double step_ns() const { return predictor.measured_ns(); }
  [[nodiscard]] double share(Category category) const { return share_of(report.shares, category); }
  // The measured step without its input.
  [[nodiscard]] double rest_ns() const { return step_ns() * (1 - share(Category::kInput)); }
  [[nodiscard]] std::int64_t loop_thread() const {
    return static_cast<std::int64_t>(report.verdict.thread);
  }
  [[nodiscard]] std::int64_t cores() const { return recording.facts.cpu_count; }  // 0: unknown
  // The cores that the program's affinity and its CPU quota allow, without what the hypervisor
  // took. 0: unknown.
  [[nodiscard]] double cores_of_machine() const;
  // Of these, those that other programs did not use, or half, which it can have at any time.
  [[nodiscard]] double cores_left_by_others() const;
  [[nodiscard]] bool input_matters() const {
    return report.input.waits > 0 && share(Category::kInput) >= kMinInputShare;
  }
  // The share of the waits in which the loop's thread works: its CPU time, or, where other programs
  // preempted it, the ops it ran there. Unknown time counts as work.
  [[nodiscard]] double busy_share() const;
};

// Completes `advice` with the predicted step; nothing if that saves less than kMinSaving.
std::optional<AdviceFacts> with_prediction(const AdviceContext& context, double predicted_ns,
                                           AdviceFacts advice);

// Completes an `advice` that is reported whatever it saves.
AdviceFacts with_any_prediction(const AdviceContext& context, double predicted_ns,
                                AdviceFacts advice);

// The same where the saving is unknown until tried: the prediction is the unchanged step.
AdviceFacts without_prediction(const AdviceContext& context, AdviceFacts advice);

// Mean calls per step of the ops with this name, outside input.
double calls_a_step(const AdviceContext& context, std::string_view name);

// A wait for the loop's loader, in an analysed step.
struct LoaderWait {
  SessionTime start{};
  double ns = 0;
  bool first = false;  // of an epoch that is not the run's first
};
std::vector<LoaderWait> loader_waits(const AdviceContext& context);

// Whether the steps usually wait for input about as long as they do on average. If not, the
// producers of the batches keep up with all but a few steps. Workers that start together deliver
// together, and then only one step in as many as there are workers waits, so the wait of so many
// steps is looked at. Those with the first wait of an epoch are left out, because for it the
// workers may start anew.
bool most_steps_wait(const AdviceContext& context);

// Whether many values are read from tensors one at a time; reading a loss and a metric takes only a
// few.
bool reads_value_by_value(const AdviceContext& context);

// The paths whose innermost op has one of these names.
PathFlags paths_named(const AdviceContext& context, const std::set<std::string_view>& names);

inline constexpr double kMinPadding = 0.05;  // of the computed elements; below it, no advice

// The ops on pairs of elements (attention scores): their time grows with the square of the length.
PathFlags ops_on_pairs(const AdviceContext& context);

// The lower bound of a step: its work, shared by the cores that other programs leave, or the
// measured step if that is shorter. 0 if the number of cores is unknown.
double least_step_ns(const AdviceContext& context);
double least_step_ns(const AdviceContext& context, double cores);  // with so many

// What it would cost to receive each batch from a worker process. Zero if the loader is not
// PyTorch's DataLoader, since its workers may be threads, and if the measured steps already include
// the cost because the loader has workers.
HandOver hand_over(const AdviceContext& context);

// The lower bounds of a step if workers prepare the batches: that of the cores (0 if their number
// is unknown) and that of the loop's thread (0 if the report describes a device). Both include the
// cost of handing over the batches.
struct LeastStep {
  double by_cores = 0;
  double by_all_cores = 0;  // the same if other programs used none
  double by_loop = 0;

  [[nodiscard]] double ns() const { return std::max(by_cores, by_loop); }
};
LeastStep least_step_with_workers(const AdviceContext& context);

// SQL that shows the waits for input, or the time of a category, step by step.
std::string waits_query(const AdviceContext& context);
std::string category_query(const AdviceContext& context, Category category);

}  // namespace stepscope
