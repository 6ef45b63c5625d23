#include "analyzer/verdict/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

namespace stepscope {
namespace {

double sum_of(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (const std::size_t i : chosen) sum += static_cast<double>(to_ns(steps[i].dur));
  return sum;
}

Shares shares_of(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen,
                 Duration StepTime::* part) {
  Shares shares{};
  const double total = sum_of(steps, chosen);
  if (total <= 0) return shares;
  for (const std::size_t i : chosen) {
    for (const StepTime& time : steps[i].times) {
      shares[static_cast<std::size_t>(time.category)] += static_cast<double>(to_ns(time.*part));
    }
  }
  for (double& share : shares) share /= total;
  return shares;
}

void keep_longest_scopes(CallMeans& means) {
  if (means.scopes.size() <= kMaxCallScopes) return;
  std::vector<double> times;
  for (const auto& [label, ns] : means.scopes) times.push_back(ns);
  const auto longest_dropped = times.begin() + kMaxCallScopes;
  std::nth_element(times.begin(), longest_dropped, times.end(), std::greater<>());
  for (auto scope = means.scopes.begin(); scope != means.scopes.end();) {
    if (scope->second > *longest_dropped) {
      ++scope;
    } else {
      means.other += scope->second;
      scope = means.scopes.erase(scope);
    }
  }
}

// Whether a scope wraps a step or more, such as one around the whole loop.
bool holds_a_step(const std::vector<Step>& steps, SessionTime start, SessionTime end) {
  const auto first = std::ranges::lower_bound(steps, start, {}, &Step::start);
  return first != steps.end() && first->end() <= end;
}

}  // namespace

WallStats wall_stats(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen) {
  if (chosen.empty()) return {};
  std::vector<std::int64_t> times;
  for (const std::size_t i : chosen) times.push_back(to_ns(steps[i].dur));
  std::sort(times.begin(), times.end());
  const auto rank = [&](double q) {
    const auto nth = static_cast<std::size_t>(std::ceil(q * static_cast<double>(times.size())));
    return times[std::max<std::size_t>(nth, 1) - 1];
  };
  const double mean = sum_of(steps, chosen) / static_cast<double>(chosen.size());
  WallStats stats{std::llround(mean), rank(0.5), rank(0.9), times.front(), times.back(), {}};
  if (times.size() >= kMinForP99) stats.p99 = rank(0.99);
  return stats;
}

Shares exposed_shares(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen) {
  return shares_of(steps, chosen, &StepTime::exposed);
}

Shares hidden_shares(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen) {
  return shares_of(steps, chosen, &StepTime::hidden);
}

PhaseMeans phase_means(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen) {
  PhaseMeans means;
  const double count = static_cast<double>(std::max<std::size_t>(chosen.size(), 1));
  for (const std::size_t i : chosen) {
    for (const StepTime& time : steps[i].times) {
      double& mean = time.phase == PhaseKind::kInput       ? means.input
                     : time.phase == PhaseKind::kForward   ? means.forward
                     : time.phase == PhaseKind::kBackward  ? means.backward
                     : time.phase == PhaseKind::kOptimizer ? means.optimizer
                                                           : means.other;
      mean += static_cast<double>(to_ns(time.exposed)) / count;
    }
  }
  return means;
}

CallMeans call_means(const LoopReport& report) {
  CallMeans means;
  const double count = static_cast<double>(std::max<std::size_t>(report.analysed.size(), 1));
  for (const std::size_t i : report.analysed) {
    for (const StepTime& time : report.steps[i].times) {
      const bool outside = time.category == Category::kHost && time.phase == PhaseKind::kNone;
      double& mean = time.phase == PhaseKind::kInput || time.category == Category::kInput
                         ? means.input
                     : time.category == Category::kOther ? means.scopes[time.label]
                     : outside                           ? means.other
                                                         : means.model;
      mean += static_cast<double>(to_ns(time.exposed)) / count;
    }
  }
  keep_longest_scopes(means);
  return means;
}

InputUse input_use(const std::vector<Phase>& phases, const std::vector<Step>& steps,
                   const std::vector<std::size_t>& chosen,
                   const std::function<std::string_view(StringId)>& text) {
  InputUse use;
  std::map<std::string, std::int64_t> loaders;
  std::size_t at = 0;
  SessionTime busy_until = session_time(0);
  for (const Phase& phase : phases) {
    if (phase.kind != PhaseKind::kInput || phase.start < busy_until) continue;
    const SessionTime end = phase.start + phase.dur;
    busy_until = end;
    while (at < chosen.size() && steps[chosen[at]].end() <= phase.start) ++at;
    if (at == chosen.size()) break;
    if (phase.start < steps[chosen[at]].start) continue;
    ++use.waits;
    use.wait_ns += to_ns(phase.dur);
    use.busy_ns += std::min(to_ns(phase.cpu), to_ns(phase.dur));
    loaders[std::string(text(phase.name))] += to_ns(phase.dur);
  }
  const auto most =
      std::max_element(loaders.begin(), loaders.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != loaders.end()) use.loader = most->first;
  return use;
}

std::vector<ScopeRow> scope_rows(const std::vector<Phase>& phases, const std::vector<Step>& steps,
                                 const std::vector<std::size_t>& chosen,
                                 const std::function<std::string_view(StringId)>& text) {
  struct Scope {
    ScopeRow row;
    SessionTime until = session_time(0);  // the end of the last one that was counted
  };
  std::map<StringId, Scope> scopes;
  std::size_t at = 0;
  for (const Phase& phase : phases) {
    if (phase.kind != PhaseKind::kScope) continue;
    while (at < chosen.size() && steps[chosen[at]].end() <= phase.start) ++at;
    if (at == chosen.size()) break;
    const SessionTime end = phase.start + phase.dur;
    if (holds_a_step(steps, phase.start, end)) continue;
    // The end of a step may lie inside, if the scope contains its mark.
    Duration inside{0};
    for (std::size_t i = at; i < chosen.size() && steps[chosen[i]].start < end; ++i) {
      const Step& step = steps[chosen[i]];
      inside += std::min(end, step.end()) - std::max(phase.start, step.start);
    }
    Scope& scope = scopes[phase.name];
    if (inside <= Duration{0} || phase.start < scope.until) continue;
    scope.until = end;
    ++scope.row.calls;
    scope.row.total_ns += to_ns(inside);
  }
  std::vector<ScopeRow> rows;
  for (auto& [name, scope] : scopes) {
    scope.row.name = text(name);
    rows.push_back(std::move(scope.row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ScopeRow& a, const ScopeRow& b) { return a.total_ns > b.total_ns; });
  if (rows.size() > kMaxScopes) rows.resize(kMaxScopes);
  return rows;
}

InputUse inferred_use(const InferredInput& input, const std::vector<Step>& steps,
                      const std::vector<std::size_t>& chosen) {
  InputUse use;
  use.inferred = true;
  use.unsure = !input.by_fetches;
  auto begin = input.begins.begin();
  for (const std::size_t i : chosen) {
    use.wait_ns += exposed_ns(steps[i], Category::kInput);
    const auto from = std::lower_bound(begin, input.begins.end(), steps[i].start);
    begin = std::lower_bound(from, input.begins.end(), steps[i].end());
    use.waits += begin - from;
  }
  // The waits are known only from the ops of other steps: assume one per step.
  if (use.waits == 0 && use.wait_ns > 0) use.waits = std::ssize(chosen);
  return use;
}

bool in_analysed_step(const LoopReport& report, SessionTime time) {
  const auto after = std::partition_point(report.steps.begin(), report.steps.end(),
                                          [time](const Step& step) { return step.start <= time; });
  if (after == report.steps.begin()) return false;
  const auto index = static_cast<std::size_t>(after - report.steps.begin()) - 1;
  return time < report.steps[index].end() &&
         std::binary_search(report.analysed.begin(), report.analysed.end(), index);
}

std::int64_t exposed_ns(const Step& step, Category category) {
  std::int64_t sum = 0;
  for (const StepTime& time : step.times)
    sum += time.category == category ? to_ns(time.exposed) : 0;
  return sum;
}

}  // namespace stepscope
