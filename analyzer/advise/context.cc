#include "analyzer/advise/context.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analyzer/advise/likely_range.h"
#include "analyzer/advise/loader_words.h"
#include "analyzer/median.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {

namespace {

constexpr double kMinUsualWait = 0.5;  // of the mean wait

// The CPU time for a batch of two tensors: the middle of 0.7 to 1.8 ms and of 0.6 to 1.1 ms for 1
// to 200 kB each, in a virtual machine at its fastest and its slowest (bench/predict/hand_over.py).
constexpr HandOver kFromProcess{.worker_ns = 1'200'000, .loop_ns = 800'000};

}  // namespace

double AdviceContext::busy_share() const {
  if (report.input.inferred) return 1;
  double in_ops = 0;
  for (const OpRow& op : report.ops) {
    if (op.phase == phase_name(PhaseKind::kInput)) in_ops += static_cast<double>(op.self_ns);
  }
  const double waits = share(Category::kInput) * step_ns() * report.op_step_count();
  // Work that waits for a core is still work.
  const double works = report.input.busy_share() + report.input.starved_share();
  return std::max(std::min(works, 1.0), waits > 0 ? std::min(in_ops / waits, 1.0) : 0);
}

double AdviceContext::cores_of_machine() const {
  const CoreUse& use = report.starvation.cores;
  if (use.available <= 0 || use.own <= 0) return static_cast<double>(cores());
  constexpr double kLeastLeft = 0.25;  // by a hypervisor
  return std::max(use.available - use.stolen, kLeastLeft * use.available);
}

double AdviceContext::cores_left_by_others() const {
  // However much others use, the scheduler shares the cores with whoever is ready to run: between
  // two that could use them all, fairly.
  constexpr double kFairShare = 0.5;
  const double all = cores_of_machine();
  const CoreUse& use = report.starvation.cores;
  return use.own <= 0 ? all : std::max(all - use.others, kFairShare * all);
}

std::optional<AdviceFacts> with_prediction(const AdviceContext& context, double predicted_ns,
                                           AdviceFacts advice) {
  if (context.step_ns() - predicted_ns < kMinSaving * context.step_ns()) return std::nullopt;
  return with_any_prediction(context, predicted_ns, std::move(advice));
}

AdviceFacts with_any_prediction(const AdviceContext& context, double predicted_ns,
                                AdviceFacts advice) {
  advice.predicted_step_ns = std::llround(std::min(predicted_ns, context.step_ns()));
  advice.saves_ns = std::llround(context.step_ns()) - advice.predicted_step_ns;
  advice.likely = likely_range(advice);
  return advice;
}

AdviceFacts without_prediction(const AdviceContext& context, AdviceFacts advice) {
  return with_any_prediction(context, context.step_ns(), std::move(advice));
}

double calls_a_step(const AdviceContext& context, std::string_view name) {
  std::int64_t calls = 0;
  for (const OpRow& op : context.report.ops) {
    if (op.name == name && op.phase != phase_name(PhaseKind::kInput)) calls += op.calls;
  }
  return static_cast<double>(calls) / context.report.op_step_count();
}

bool reads_value_by_value(const AdviceContext& context) {
  constexpr double kMany = 8;  // a step
  return calls_a_step(context, "aten::item") >= kMany;
}

PathFlags paths_named(const AdviceContext& context, const std::set<std::string_view>& names) {
  return paths_inside(context.predictor.paths(),
                      [&](StringId name) { return names.contains(context.recording.text(name)); });
}

PathFlags ops_on_pairs(const AdviceContext& context) {
  return paths_named(context, {"aten::bmm", "aten::baddbmm", "aten::softmax", "aten::masked_fill",
                               "aten::masked_fill_", "aten::scaled_dot_product_attention",
                               "aten::_safe_softmax", "aten::_softmax"});
}

double least_step_ns(const AdviceContext& context, double cores) {
  if (cores <= 0) return 0;
  const double input = context.share(Category::kInput) * context.step_ns();
  const double busy = context.step_ns() - input * (1 - context.busy_share());
  const double ran = busy - context.report.starvation.share * context.step_ns();
  const double sampled = context.report.use.cpu_ns;
  // The measured step shows that it need not take longer.
  return std::min((sampled > 0 ? sampled : ran) / cores, context.step_ns());
}

double least_step_ns(const AdviceContext& context) {
  return least_step_ns(context, context.cores_left_by_others());
}

HandOver hand_over(const AdviceContext& context) {
  const std::string& loader = context.report.input.loader;
  return loads_without_workers(loader) ? kFromProcess : HandOver();
}

LeastStep least_step_with_workers(const AdviceContext& context) {
  const HandOver cost = hand_over(context);
  const auto batches =
      static_cast<double>(std::max<std::int64_t>(context.report.batches_per_step, 1));
  const auto by = [&](double cores) {
    if (cores <= 0) return 0.0;
    return least_step_ns(context, cores) +
           batches * static_cast<double>(cost.worker_ns + cost.loop_ns) / cores;
  };
  LeastStep least;
  least.by_cores = by(context.cores_left_by_others());
  least.by_all_cores = by(context.cores_of_machine());
  if (context.report.device == DeviceId::kNone) {
    least.by_loop = context.rest_ns() + batches * static_cast<double>(cost.loop_ns);
  }
  return least;
}

std::string waits_query(const AdviceContext& context) {
  if (context.report.input.inferred) return category_query(context, Category::kInput);
  return "SELECT step, dur_ns, cpu_ns, busy_share FROM input_stats WHERE thread_id = " +
         std::to_string(context.loop_thread()) + " AND step IS NOT NULL ORDER BY dur_ns DESC";
}

std::string category_query(const AdviceContext& context, Category category) {
  const std::string column = std::string(category_name(category)) + "_ns";
  return "SELECT number, " + column +
         ", dur_ns FROM step_breakdown WHERE thread_id = " + std::to_string(context.loop_thread()) +
         " ORDER BY " + column + " DESC";
}

std::vector<LoaderWait> loader_waits(const AdviceContext& context) {
  std::vector<LoaderWait> waits;
  bool exhausted = false;
  for (const Phase& phase : phases_of(context.recording, context.report.verdict.thread)) {
    if (phase.kind != PhaseKind::kInput && phase.kind != PhaseKind::kInputEnd) continue;
    if (context.recording.text(phase.name) != context.report.input.loader) continue;
    const bool first = std::exchange(exhausted, phase.kind == PhaseKind::kInputEnd);
    if (phase.kind == PhaseKind::kInputEnd || !in_analysed_step(context.report, phase.start))
      continue;
    waits.push_back({phase.start, static_cast<double>(to_ns(phase.dur)), first});
  }
  return waits;
}

bool most_steps_wait(const AdviceContext& context) {
  const LoopReport& report = context.report;
  const auto together = static_cast<std::size_t>(std::max(worker_count(report.input.loader), 1));
  std::vector<LoaderWait> first;
  if (together > 1) first = loader_waits(context);
  std::erase_if(first, [](const LoaderWait& wait) { return !wait.first; });
  auto next = first.begin();  // both are in the order of time
  const auto starts_epoch = [&](const Step& step) {
    next = std::find_if(next, first.end(),
                        [&](const LoaderWait& wait) { return wait.start >= step.start; });
    return next != first.end() && next->start < step.end();
  };
  std::vector<std::int64_t> totals{0};  // the waits until each step, in ns
  std::vector<double> waits;            // of `together` steps in turn
  std::size_t in_epoch = 0;             // steps since its first
  for (const std::size_t i : report.analysed) {
    totals.push_back(totals.back() + exposed_ns(report.steps[i], Category::kInput));
    in_epoch = starts_epoch(report.steps[i]) ? 0 : in_epoch + 1;
    if (in_epoch >= together)
      waits.push_back(static_cast<double>(totals.back() - totals[totals.size() - 1 - together]));
  }
  if (waits.empty()) return false;
  const double mean =
      static_cast<double>(totals.back()) / static_cast<double>(report.analysed.size());
  return lower_median(std::move(waits)) >= kMinUsualWait * mean * static_cast<double>(together);
}

}  // namespace stepscope
