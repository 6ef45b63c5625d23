#include "analyzer/verdict/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/verdict/populations.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

double sum_of(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (const std::size_t i : chosen) sum += static_cast<double>(to_ns(steps[i].dur));
  return sum;
}

Shares shares_of(const std::vector<Step>& steps, const std::vector<std::size_t>& chosen,
                 Duration StepTime::*part) {
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

// "input", or of kOther the scope's name.
using Cause = std::pair<Category, std::string>;

std::map<Cause, double> mean_by_cause(const std::vector<Step>& steps,
                                      const std::vector<std::size_t>& chosen) {
  std::map<Cause, double> means;
  for (const std::size_t i : chosen) {
    for (const StepTime& time : steps[i].times) {
      means[{time.category, time.label}] += static_cast<double>(to_ns(time.exposed));
    }
  }
  for (auto& [cause, mean] : means) mean /= static_cast<double>(chosen.size());
  return means;
}

// What the slow steps spend more on than the others: "+12.0 ms in \"checkpoint\"".
std::string difference(const std::vector<Step>& steps, const std::vector<std::size_t>& usual,
                       const std::vector<std::size_t>& slow) {
  auto more = mean_by_cause(steps, slow);
  for (const auto& [cause, mean] : mean_by_cause(steps, usual)) more[cause] -= mean;
  const auto most = std::max_element(
      more.begin(), more.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& [category, label] = most->first;
  const std::string where = label.empty() ? std::string(category_name(category)) : in_quotes(label);
  return "+" + time_text(most->second) + " in " + where;
}

Population population_of(const std::vector<Step>& steps, const std::vector<std::size_t>& members,
                         double total, std::string label) {
  const double sum = sum_of(steps, members);
  Population result;
  result.steps = static_cast<std::int64_t>(members.size());
  result.mean_ns = members.empty() ? 0 : std::llround(sum / static_cast<double>(members.size()));
  result.share = total > 0 ? sum / total : 0;
  result.label = std::move(label);
  return result;
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
  return {std::llround(mean), rank(0.5), rank(0.9), times.front(), times.back()};
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
    while (at < chosen.size() && steps[chosen[at]].start + steps[chosen[at]].dur <= phase.start)
      ++at;
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

InputUse inferred_use(const InferredInput& input, const std::vector<Step>& steps,
                      const std::vector<std::size_t>& chosen) {
  InputUse use;
  use.inferred = true;
  auto begin = input.begins.begin();
  for (const std::size_t i : chosen) {
    use.wait_ns += exposed_ns(steps[i], Category::kInput);
    const auto from = std::lower_bound(begin, input.begins.end(), steps[i].start);
    begin = std::lower_bound(from, input.begins.end(), steps[i].start + steps[i].dur);
    use.waits += begin - from;
  }
  return use;
}

std::int64_t exposed_ns(const Step& step, Category category) {
  std::int64_t sum = 0;
  for (const StepTime& time : step.times)
    sum += time.category == category ? to_ns(time.exposed) : 0;
  return sum;
}

std::vector<Population> describe_populations(const std::vector<Step>& steps,
                                             const std::vector<std::size_t>& chosen) {
  std::vector<double> times;
  for (const std::size_t i : chosen) times.push_back(static_cast<double>(to_ns(steps[i].dur)));
  const double total = sum_of(steps, chosen);
  const auto split = split_populations(times);
  if (!split) return {population_of(steps, chosen, total, "all")};

  std::vector<std::size_t> usual, slow;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    (times[i] >= split->threshold ? slow : usual).push_back(chosen[i]);
  }
  const std::size_t period = period_of(slow);
  const std::string which = period > 0 ? "every " + ordinal(period) + " step" : "slow steps";
  return {population_of(steps, usual, total, "usual steps"),
          population_of(steps, slow, total, which + ": " + difference(steps, usual, slow))};
}

}  // namespace stepscope
