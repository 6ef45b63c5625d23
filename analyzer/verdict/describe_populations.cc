#include "analyzer/verdict/describe_populations.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/verdict/cause.h"
#include "analyzer/verdict/populations.h"
#include "analyzer/verdict/rhythm.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

using CauseTimes = std::map<Cause, std::vector<double>>;
using Indexes = std::vector<std::size_t>;  // into the chosen steps

double mean_of(const std::vector<double>& values, const Indexes& members) {
  double sum = 0;
  for (const std::size_t i : members) sum += values[i];
  return sum / static_cast<double>(std::max<std::size_t>(members.size(), 1));
}

// The cause on which the members spend more than the usual steps, or less when they are faster.
void find_cause(const CauseTimes& causes, const Indexes& members, const Indexes& usual, bool faster,
                Population& kind) {
  for (const auto& [cause, times] : causes) {
    const double more = mean_of(times, members) - mean_of(times, usual);
    if (faster ? more >= kind.extra_ns : more <= kind.extra_ns) continue;
    kind.extra_ns = more;
    kind.cause = cause;
  }
}

Population population_of(const std::vector<Step>& steps, Indexes members, double total) {
  Population kind;
  const double sum =
      std::accumulate(members.begin(), members.end(), 0.0, [&](double so_far, std::size_t i) {
        return so_far + static_cast<double>(to_ns(steps[i].dur));
      });
  kind.steps = static_cast<std::int64_t>(members.size());
  kind.mean_ns = members.empty() ? 0 : std::llround(sum / static_cast<double>(members.size()));
  kind.share = total > 0 ? sum / total : 0;
  kind.shares = exposed_shares(steps, members);
  kind.members = std::move(members);
  return kind;
}

void find_rhythm(const StepProfiles& profiles, const Indexes& members, Population& kind) {
  std::vector<std::int64_t> numbers;
  for (const std::size_t i : members) numbers.push_back(profiles.numbers[i]);
  const Rhythm rhythm = rhythm_of(numbers, static_cast<std::int64_t>(profiles.numbers.size()));
  kind.period = rhythm.period;
  kind.first = rhythm.first;
}

}  // namespace

std::vector<Population> describe_populations(const std::vector<Step>& steps,
                                             const std::vector<std::size_t>& chosen) {
  const CauseTimes causes = cause_times(steps, chosen);
  StepProfiles profiles;
  for (const std::size_t i : chosen) {
    profiles.numbers.push_back(steps[i].number);
    profiles.times.push_back(static_cast<double>(to_ns(steps[i].dur)));
  }
  for (const auto& [cause, times] : causes) profiles.causes.push_back(times);
  const double total = std::accumulate(profiles.times.begin(), profiles.times.end(), 0.0);

  const std::vector<Indexes> kinds = find_populations(profiles);
  std::vector<Population> result;
  for (const Indexes& members : kinds) {
    Indexes of_steps;
    for (const std::size_t i : members) of_steps.push_back(chosen[i]);
    Population kind = population_of(steps, std::move(of_steps), total);
    if (!result.empty()) {
      const auto usual_ns = static_cast<double>(result.front().mean_ns);
      const bool faster = static_cast<double>(kind.mean_ns) < usual_ns;
      find_rhythm(profiles, members, kind);
      find_cause(causes, members, kinds.front(), faster, kind);
    }
    result.push_back(std::move(kind));
  }
  return result;
}

}  // namespace stepscope
