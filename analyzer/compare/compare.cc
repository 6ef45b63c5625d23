#include "analyzer/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "analyzer/compare/match_loops.h"
#include "analyzer/compare/notes.h"

namespace stepscope {
namespace {

// Of each analysed step, the exposed time that `counts` says yes to.
std::vector<double> exposed(const LoopReport& loop,
                            const std::function<bool(const StepTime&)>& counts) {
  std::vector<double> values;
  for (const std::size_t i : loop.analysed) {
    double sum = 0;
    for (const StepTime& time : loop.steps[i].times) {
      if (counts(time)) sum += static_cast<double>(to_ns(time.exposed));
    }
    values.push_back(sum);
  }
  return values;
}

std::vector<double> step_times(const LoopReport& loop) {
  std::vector<double> values;
  for (const std::size_t i : loop.analysed) {
    values.push_back(static_cast<double>(to_ns(loop.steps[i].dur)));
  }
  return values;
}

PartDifference compare_part(std::string name, const LoopReport& a, const LoopReport& b,
                            const std::function<bool(const StepTime&)>& counts) {
  const std::vector<double> in_a = exposed(a, counts), in_b = exposed(b, counts);
  return {std::move(name), difference_of(estimate_mean(in_a), estimate_mean(in_b)),
          difference_of(estimate_ratio(in_a, step_times(a)), estimate_ratio(in_b, step_times(b)))};
}

// Times and shares are a family each: either may be looked at alone.
void control(std::vector<PartDifference>& parts) {
  std::vector<Difference*> times, shares;
  for (PartDifference& part : parts) {
    times.push_back(&part.ns);
    shares.push_back(&part.share);
  }
  control_false_discoveries(times);
  control_false_discoveries(shares);
}

std::vector<PartDifference> compare_categories(const LoopReport& a, const LoopReport& b) {
  std::vector<PartDifference> parts;
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (share_of(a.shares, category) <= 0 && share_of(b.shares, category) <= 0) continue;
    parts.push_back(compare_part(category_name(category), a, b, [category](const StepTime& time) {
      return time.category == category;
    }));
  }
  control(parts);
  return parts;
}

// "input", "forward", "backward", "optimizer" or "other", as PhaseMeans has them.
std::string phase_of(const StepTime& time) {
  const bool named = time.phase == PhaseKind::kInput || time.phase == PhaseKind::kForward ||
                     time.phase == PhaseKind::kBackward || time.phase == PhaseKind::kOptimizer;
  return named ? phase_name(time.phase) : "other";
}

std::vector<PartDifference> compare_phases(const LoopReport& a, const LoopReport& b) {
  std::vector<PartDifference> parts;
  for (const char* phase : {"input", "forward", "backward", "optimizer", "other"}) {
    parts.push_back(compare_part(
        phase, a, b, [phase](const StepTime& time) { return phase_of(time) == phase; }));
  }
  control(parts);
  return parts;
}

// An op over the blocks of one run; `row` is null when it did not occur there.
Estimate estimate_calls(const LoopReport& loop, const OpRow* row, std::int64_t OpSample::*figure) {
  std::vector<double> parts(loop.op_blocks.size(), 0),
      steps(loop.op_blocks.begin(), loop.op_blocks.end());
  if (row != nullptr) {
    for (const OpSample& sample : row->samples) {
      parts[sample.block] = static_cast<double>(sample.*figure);
    }
  }
  return estimate_ratio(parts, steps, std::accumulate(steps.begin(), steps.end(), 0.0));
}

struct OpRows {
  const OpRow* a = nullptr;
  const OpRow* b = nullptr;
};

std::vector<CallDifference> compare_ops(const LoopReport& a, const LoopReport& b) {
  std::map<std::pair<std::string_view, std::string_view>, OpRows> rows;
  for (const OpRow& row : a.ops) rows[{row.name, row.phase}].a = &row;
  for (const OpRow& row : b.ops) rows[{row.name, row.phase}].b = &row;
  std::vector<CallDifference> result;
  for (const auto& [key, row] : rows) {
    const auto compared = [&](std::int64_t OpSample::*figure) {
      return difference_of(estimate_calls(a, row.a, figure), estimate_calls(b, row.b, figure));
    };
    result.push_back({"op", std::string(key.first), std::string(key.second),
                      compared(&OpSample::self_ns), compared(&OpSample::calls), false});
  }
  return result;
}

void control_and_sort(std::vector<CallDifference>& calls, double step_ns) {
  std::vector<Difference*> family;
  for (CallDifference& call : calls) {
    family.push_back(&call.ns);
    family.push_back(&call.calls);
    call.trifle = std::abs(call.ns.delta()) < kTrifle * step_ns;
  }
  control_false_discoveries(family);
  std::stable_sort(calls.begin(), calls.end(),
                   [](const CallDifference& x, const CallDifference& y) {
                     if (x.matters() != y.matters()) return x.matters();
                     if (x.changed() != y.changed()) return x.changed();
                     return std::abs(x.ns.delta()) > std::abs(y.ns.delta());
                   });
}

LoopComparison compare_loops(const LoopReport& a, const LoopReport& b) {
  LoopComparison result;
  result.rank = a.rank == b.rank ? a.rank : -1;
  result.mean = difference_of(estimate_mean(step_times(a)), estimate_mean(step_times(b)));
  result.median = difference_of(estimate_median(step_times(a)), estimate_median(step_times(b)));
  result.categories = compare_categories(a, b);
  result.phases = compare_phases(a, b);
  result.a_has_ops = a.ops_recorded;
  result.b_has_ops = b.ops_recorded;
  if (!a.op_blocks.empty() && !b.op_blocks.empty()) {
    result.calls = compare_ops(a, b);
    control_and_sort(result.calls, result.mean.a.value);
  }
  return result;
}

}  // namespace

Comparison compare(const AnalysisReport& a, const AnalysisReport& b) {
  Comparison result;
  const LoopMatch match = match_loops(a.loops, b.loops);
  for (const auto& [in_a, in_b] : match.pairs) {
    result.loops.push_back(compare_loops(a.loops[in_a], b.loops[in_b]));
    result.loops.back().a = in_a;
    result.loops.back().b = in_b;
  }
  result.only_in_a = match.only_in_a;
  result.only_in_b = match.only_in_b;
  result.notes = notes_of(a, b, result);
  return result;
}

}  // namespace stepscope
