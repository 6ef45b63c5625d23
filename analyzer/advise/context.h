// What the rules of advice know of a loop, and what they have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/report.h"
#include "analyzer/simulate/predictor.h"
#include "analyzer/simulate/what_if.h"

namespace stepscope {

inline constexpr double kLeastInputShare = 0.05;  // below it no advice about input
inline constexpr double kLeastSaving = 0.02;      // of the step; below it no advice at all

struct AdviceContext {
  const LoopReport& report;
  const Predictor& predictor;  // one that predicts
  const RecordedRun& recording;

  [[nodiscard]] double step_ns() const { return predictor.measured_ns(); }
  [[nodiscard]] double share(Category category) const { return share_of(report.shares, category); }
  [[nodiscard]] std::int64_t loop_thread() const {
    return static_cast<std::int64_t>(report.verdict.thread);
  }
  [[nodiscard]] std::int64_t cores() const { return recording.facts.cpu_count; }  // 0: unknown
  [[nodiscard]] bool input_matters() const {
    return report.input.waits > 0 && share(Category::kInput) >= kLeastInputShare;
  }
  // The part of the waits that is work of the loop's thread: its CPU time, or, where other programs
  // took the core away, the ops it ran there. What is not known is taken for work.
  [[nodiscard]] double busy_share() const;
};

// Completes `advice` with the predicted step, unless that saves too little to be worth a word.
std::optional<Advice> with_prediction(const AdviceContext& context, double predicted_ns,
                                      Advice advice);

// Completes `advice` for something that is worth a word whatever it saves.
Advice with_any_prediction(const AdviceContext& context, double predicted_ns, Advice advice);

// The same where what it saves cannot be told before it is tried: predicted is the step as it is.
Advice without_prediction(const AdviceContext& context, Advice advice);

// Mean calls a step of ops of this name outside of input.
double calls_a_step(const AdviceContext& context, std::string_view name);

// The paths whose innermost op has one of these names.
PathFlags paths_named(const AdviceContext& context, const std::set<std::string_view>& names);

// A step takes no less than its work, shared by all cores; 0 when these are not known.
double least_step_ns(const AdviceContext& context);

// SQL that shows the waits for input, or a category's time step by step.
std::string waits_query(const AdviceContext& context);
std::string category_query(const AdviceContext& context, Category category);

}  // namespace stepscope
