#include "analyzer/verdict/judge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/verdict/bootstrap.h"
#include "analyzer/verdict/classify.h"
#include "analyzer/verdict/confidence.h"
#include "analyzer/verdict/evidence.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

double deciding_ns(const Step& step, Category category) {
  const std::int64_t other = category == Category::kHost ? exposed_ns(step, Category::kOther) : 0;
  return static_cast<double>(exposed_ns(step, category) + other);
}

Interval interval_of(const LoopReport& report, const Bottleneck& bottleneck) {
  std::vector<double> parts, wholes;
  for (const std::size_t i : report.analysed) {
    parts.push_back(bottleneck.memory_pressure ? report.memory.stall_ns[i]
                    : bottleneck.starved       ? report.starvation.starved_ns[i]
                                               : deciding_ns(report.steps[i], bottleneck.category));
    wholes.push_back(static_cast<double>(to_ns(report.steps[i].dur)));
  }
  return bootstrap_ratio(parts, wholes);
}

// The costliest of the scopes whose time is of `category`, with its share of the steps.
std::optional<ScopeShare> costliest_scope(const LoopReport& report, Category category) {
  std::map<std::string, double> labels;
  double total = 0;
  for (const std::size_t i : report.analysed) {
    total += static_cast<double>(to_ns(report.steps[i].dur));
    for (const StepTime& time : report.steps[i].times) {
      if (time.category == category && !time.label.empty())
        labels[time.label] += static_cast<double>(to_ns(time.exposed));
    }
  }
  const auto most =
      std::max_element(labels.begin(), labels.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == labels.end() || total <= 0) return std::nullopt;
  return ScopeShare{most->first, most->second / total};
}

// The scope with most of a bottleneck's time: for host time, a scope of the program; for compute,
// the calls of another runtime.
std::optional<ScopeShare> scope_behind(const LoopReport& report, const Bottleneck& bottleneck) {
  if (bottleneck.overlaps()) return std::nullopt;
  const double named = share_of(report.shares, Category::kOther);
  if (bottleneck.category == Category::kHost && named > share_of(report.shares, Category::kHost))
    return costliest_scope(report, Category::kOther);
  if (bottleneck.category != Category::kCompute) return std::nullopt;
  const double half = share_of(report.shares, Category::kCompute) / 2;
  const auto runtime = costliest_scope(report, Category::kCompute);
  return runtime && runtime->share >= half ? runtime : std::nullopt;
}

// Whether the input is inferred and may be other work.
bool unsure_input(const LoopReport& report, const Shares& shares) {
  const double input = share_of(shares, Category::kInput);
  return report.input.unsure && input >= kModeratelyInputBound && input < kHighlyInputBound;
}

// The other stalls that are large enough to mention.
std::vector<Stall> further_stalls(const LoopReport& report, const Bottleneck& bottleneck) {
  std::vector<Stall> stalls;
  if (!bottleneck.memory_pressure && report.memory.share >= kStallListed)
    stalls.push_back({StallKind::kMemoryPressure, {}, report.memory.share});
  const double starved = report.starvation.share;
  if (!bottleneck.starved && starved >= kStallListed)
    stalls.push_back({StallKind::kStarved, {}, starved});
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (category == Category::kCompute || category == Category::kOther) continue;
    if (category == bottleneck.category && !bottleneck.overlaps()) continue;
    const double share = deciding_share(report.shares, category);
    if (!is_listed(category, share)) continue;
    if (category == Category::kInput && unsure_input(report, report.shares)) continue;
    stalls.push_back({StallKind::kCategory, category, share});
  }
  return stalls;
}

// The shares that decide a verdict. Time in which a thread had no core does not count as another
// kind of stall, and a small pause that may be anything does not make a loop input-bound. The
// reported share is still that of the breakdown.
Shares naming_shares(const LoopReport& report, Shares shares) {
  if (unsure_input(report, shares)) shares[static_cast<std::size_t>(Category::kInput)] = 0;
  for (std::size_t i = 0; i < shares.size() && report.starvation.known; ++i) {
    if (report.shares[i] > 0) shares[i] *= report.starvation.net[i] / report.shares[i];
  }
  return shares;
}

Bottleneck bottleneck_of(const LoopReport& report, const Shares& shares, double memory,
                         double starved) {
  Bottleneck result = classify(naming_shares(report, shares), memory, starved);
  if (!result.overlaps()) result.share = deciding_share(shares, result.category);
  return result;
}

std::optional<Stall> near_bottleneck(const LoopReport& report) {
  const double input = share_of(report.shares, Category::kInput);
  if (unsure_input(report, report.shares) && input >= kHighlyInputBound - kNear)
    return Stall{StallKind::kCategory, Category::kInput, input};
  return near_threshold(naming_shares(report, report.shares), report.memory.share,
                        report.starvation.share);
}

// The share of the time of `members`. `ns`: of each step of the loop; may be empty.
double share_in(const LoopReport& report, const std::vector<double>& ns,
                const std::vector<std::size_t>& members) {
  if (ns.empty()) return 0;
  double stalled = 0, total = 0;
  for (const std::size_t i : members) {
    stalled += ns[i];
    total += static_cast<double>(to_ns(report.steps[i].dur));
  }
  return total > 0 ? stalled / total : 0;
}

// Classifies each step, and each kind of step, on its own.
void judge_kinds(LoopReport& report) {
  const auto of = [&report](const Shares& shares, const std::vector<std::size_t>& members) {
    return bottleneck_of(report, shares, share_in(report, report.memory.stall_ns, members),
                         share_in(report, report.starvation.starved_ns, members));
  };
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const std::vector<std::size_t> alone = {i};
    const Shares shares = exposed_shares(report.steps, alone);
    report.steps[i].kinds = {{of(shares, alone).kind, 0, report.verdict.device}};
  }
  std::int64_t number = 0;
  for (Population& kind : report.populations) {
    kind.bottleneck = of(kind.shares, kind.members);
    ++number;
    for (const std::size_t i : kind.members) report.steps[i].kinds.front().population = number;
  }
}

}  // namespace

void withhold_verdict(LoopReport& report) {
  LoopVerdict& verdict = report.verdict;
  verdict.kind = kNoVerdict;
  verdict.confidence = "high";
  verdict.steps = static_cast<std::int64_t>(report.analysed.size());
  judge_kinds(report);
}

void judge(LoopReport& report, const RecordingQuality& recording) {
  if (report.steps.size() == 1) return withhold_verdict(report);
  const Bottleneck bottleneck =
      bottleneck_of(report, report.shares, report.memory.share, report.starvation.share);
  const Interval ci = interval_of(report, bottleneck);
  const bool warm_up_only = std::none_of(report.analysed.begin(), report.analysed.end(),
                                         [&](std::size_t i) { return report.steps[i].steady; });
  const auto steps = static_cast<std::int64_t>(report.analysed.size());
  // All of a call without ops looks like a forward pass, if nothing marks its waits.
  const bool no_waits = report.by_sampler || report.input.waits == 0;
  const bool input_unknown = no_waits && !report.trains && !report.ops_recorded;
  VerdictBasis& basis = report.basis;
  basis.bottleneck = bottleneck;
  basis.near = near_bottleneck(report);
  Confidence confidence = confidence_of(
      {steps, warm_up_only, report.ops_recorded, report.input.inferred, report.input.unsure,
       input_unknown, ci, bottleneck, basis.near.has_value(), report.starvation.share,
       recording.ops, recording.lost + report.late_ops, recording.incomplete,
       recording.device_lost && report.verdict.device == DeviceId::kNone, report.native_unknown});

  LoopVerdict& verdict = report.verdict;
  verdict.kind = bottleneck.kind;
  verdict.degree = bottleneck.degree;
  verdict.share = bottleneck.share;
  verdict.ci_low = ci.low;
  verdict.ci_high = ci.high;
  verdict.confidence = confidence.level;
  verdict.steps = steps;

  basis.doubts = std::move(confidence.reasons);
  basis.further = further_stalls(report, bottleneck);
  basis.unsure_input = unsure_input(report, report.shares);
  basis.top = scope_behind(report, bottleneck);
  judge_kinds(report);
  verdict.evidence = evidence_of(report, bottleneck);
}

}  // namespace stepscope
