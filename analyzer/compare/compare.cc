#include "analyzer/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analyzer/compare/compare_lines.h"
#include "analyzer/compare/match_loops.h"
#include "analyzer/compare/notes.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

// The exposed time in each analysed step, ns.
std::vector<double> exposed(const LoopReport& loop, Category category) {
  std::vector<double> values;
  for (const std::size_t i : loop.analysed) {
    values.push_back(static_cast<double>(exposed_ns(loop.steps[i], category)));
  }
  return values;
}

// The same for a phase of the loop thread.
std::vector<double> spent_in(const LoopReport& loop, double PhaseMeans::* phase) {
  std::vector<double> values;
  for (const PhaseMeans& step : loop.step_phases) values.push_back(step.*phase);
  return values;
}

std::vector<double> step_times(const LoopReport& loop) {
  std::vector<double> values;
  for (const std::size_t i : loop.analysed) {
    values.push_back(static_cast<double>(to_ns(loop.steps[i].dur)));
  }
  return values;
}

// Batches may differ in size; the mean step corresponds to the mean batch.
Estimate sample_time(const LoopReport& loop) {
  const std::vector<double> steps = step_times(loop);
  const double batch = loop.padding.batch_size();
  const std::vector<double> samples(steps.size(), batch);
  // The number of samples it is based on: a step of 16 varies less than its samples.
  return estimate_ratio(steps, samples, batch * static_cast<double>(steps.size()));
}

void compare_samples(const LoopReport& a, const LoopReport& b, LoopComparison& result) {
  constexpr double kAlike = 0.01;  // the last batch of a run may be a smaller one
  result.samples_a = a.padding.batch_size();
  result.samples_b = b.padding.batch_size();
  if (result.samples_a <= 0 || result.samples_b <= 0) return;
  if (std::abs(result.samples_b / result.samples_a - 1) < kAlike) return;
  result.sample = difference_of(sample_time(a), sample_time(b));
}

PartDifference compare_part(std::string name, const LoopReport& a, const std::vector<double>& in_a,
                            const LoopReport& b, const std::vector<double>& in_b) {
  return {std::move(name), difference_of(estimate_mean(in_a), estimate_mean(in_b)),
          difference_of(estimate_ratio(in_a, step_times(a)), estimate_ratio(in_b, step_times(b)))};
}

// Times and shares form separate families: a reader may look at either alone.
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
    parts.push_back(
        compare_part(category_name(category), a, exposed(a, category), b, exposed(b, category)));
  }
  control(parts);
  return parts;
}

std::vector<PartDifference> compare_phases(const LoopReport& a, const LoopReport& b) {
  const std::pair<const char*, double PhaseMeans::*> kPhases[] = {
      {"input", &PhaseMeans::input},
      {"forward", &PhaseMeans::forward},
      {"backward", &PhaseMeans::backward},
      {"optimizer", &PhaseMeans::optimizer},
      {"other", &PhaseMeans::other}};
  std::vector<PartDifference> parts;
  for (const auto& [name, phase] : kPhases)
    parts.push_back(compare_part(name, a, spent_in(a, phase), b, spent_in(b, phase)));
  control(parts);
  return parts;
}

// An op or kernel over the blocks of one run; `row` is null when it did not occur there.
template <typename Row>
Estimate estimate_calls(const std::vector<std::int64_t>& blocks, const Row* row,
                        std::int64_t OpSample::* figure) {
  std::vector<double> parts(blocks.size(), 0), steps(blocks.begin(), blocks.end());
  if (row != nullptr) {
    for (const OpSample& sample : row->samples) {
      parts[sample.block] = static_cast<double>(sample.*figure);
    }
  }
  return estimate_ratio(parts, steps, std::accumulate(steps.begin(), steps.end(), 0.0));
}

// The rows of one run, and how many steps each block of their samples holds.
template <typename Row>
struct Course {
  const std::vector<Row>& rows;
  const std::vector<std::int64_t>& blocks;
};

template <typename Row>
std::vector<CallDifference> compare_calls(const char* kind, Course<Row> a, Course<Row> b) {
  std::map<std::pair<std::string_view, std::string_view>, std::pair<const Row*, const Row*>> rows;
  for (const Row& row : a.rows) rows[{row.name, row.phase}].first = &row;
  for (const Row& row : b.rows) rows[{row.name, row.phase}].second = &row;
  std::vector<CallDifference> result;
  for (const auto& [key, row] : rows) {
    const auto compared = [&, &of = row](std::int64_t OpSample::* figure) {
      return difference_of(estimate_calls(a.blocks, of.first, figure),
                           estimate_calls(b.blocks, of.second, figure));
    };
    result.push_back({kind, std::string(key.first), std::string(key.second),
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
  result.unit = a.trains ? a.unit() : b.unit();
  result.rank = a.rank == b.rank ? a.rank : -1;
  result.mean = difference_of(estimate_mean(step_times(a)), estimate_mean(step_times(b)));
  result.median = difference_of(estimate_median(step_times(a)), estimate_median(step_times(b)));
  compare_samples(a, b, result);
  result.categories = compare_categories(a, b);
  result.phases = compare_phases(a, b);
  result.a_has_ops = a.ops_recorded;
  result.b_has_ops = b.ops_recorded;
  if (!a.op_blocks.empty() && !b.op_blocks.empty()) {
    result.calls = compare_calls<OpRow>("op", {a.ops, a.op_blocks}, {b.ops, b.op_blocks});
    control_and_sort(result.calls, result.mean.a.value);
  }
  if (!a.kernel_blocks.empty() && !b.kernel_blocks.empty()) {
    result.kernels = compare_calls<KernelRow>("kernel", {a.kernels, a.kernel_blocks},
                                              {b.kernels, b.kernel_blocks});
    control_and_sort(result.kernels, result.mean.a.value);
  }
  return result;
}

}  // namespace

Comparison compare(const AnalysisReport& a, const AnalysisReport& b) {
  Comparison result;
  const LoopMatch match = match_loops(a.loops, b.loops);
  for (const auto& [in_a, in_b] : match.pairs) {
    result.loops.push_back(compare_loops(a.loops[in_a], b.loops[in_b]));
    LoopComparison& loop = result.loops.back();
    loop.a = in_a;
    loop.b = in_b;
    loop.lines = compare_lines({a.run, a.loops[in_a]}, {b.run, b.loops[in_b]}, loop.phases);
  }
  result.only_in_a = match.only_in_a;
  result.only_in_b = match.only_in_b;
  result.notes = notes_of(a, b, result);
  return result;
}

}  // namespace stepscope
