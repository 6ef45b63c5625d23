#include "analyzer/verdict/rank_steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

RankTurn turn_of(const LoopReport& loop, std::size_t index) {
  const Step& step = loop.steps[index];
  RankTurn turn;
  turn.index = index;
  turn.dur_ns = static_cast<double>(to_ns(step.dur));
  turn.communication_ns = static_cast<double>(exposed_ns(step, Category::kCommunication));
  turn.work_ns = turn.dur_ns - turn.communication_ns;
  return turn;
}

ComparedStep compare(std::vector<RankTurn> turns) {
  ComparedStep step;
  step.turns = std::move(turns);
  std::vector<double> works;
  double longest = 0;
  for (const RankTurn& turn : step.turns) {
    works.push_back(turn.work_ns);
    longest = std::max(longest, turn.dur_ns);
  }
  step.last =
      static_cast<std::size_t>(std::max_element(works.begin(), works.end()) - works.begin());
  std::nth_element(works.begin(), works.begin() + 1, works.end(), std::greater<>());
  step.saved_ns = step.turns[step.last].work_ns - works[1];
  double waited = 0;
  for (std::size_t rank = 0; rank < step.turns.size(); ++rank) waited += step.wait_ns(rank);
  const auto others = static_cast<double>(step.turns.size() - 1);
  step.held_up = waited > 0 && waited / others >= kMinRankGap * longest;
  return step;
}

}  // namespace

double ComparedStep::wait_ns(std::size_t rank) const {
  return std::max(0.0, turns[rank].communication_ns - turns[last].communication_ns);
}

std::vector<ComparedStep> compared_steps(const std::vector<const LoopReport*>& ranks) {
  std::map<std::int64_t, std::vector<RankTurn>> by_number;
  for (const LoopReport* loop : ranks) {
    for (const std::size_t i : loop->analysed)
      by_number[loop->steps[i].number].push_back(turn_of(*loop, i));
  }
  std::vector<ComparedStep> steps;
  for (auto& [number, turns] : by_number) {
    if (turns.size() == ranks.size()) steps.push_back(compare(std::move(turns)));
  }
  return steps;
}

RankSteps count_steps(const std::vector<const LoopReport*>& ranks,
                      const std::vector<ComparedStep>& compared,
                      const std::optional<StepSpan>& only) {
  RankSteps count;
  std::set<std::int64_t> known;
  for (const ComparedStep& step : compared) {
    known.insert(ranks.front()->steps[step.turns.front().index].number);
    ++(step.held_up ? count.held_up : count.even);
  }
  struct Seen {
    std::size_t ranks = 0;
    bool warm_up = false;
  };
  std::map<std::int64_t, Seen> all;
  for (const LoopReport* loop : ranks) {
    for (std::size_t i = 0; i < loop->steps.size(); ++i) {
      const std::int64_t number = loop->steps[i].number;
      if (only && (number < only->first || number > only->last)) continue;
      Seen& seen = all[number];
      ++seen.ranks;
      seen.warm_up = seen.warm_up || static_cast<std::int64_t>(i) < loop->warm_up;
    }
  }
  count.total = static_cast<std::int64_t>(all.size());
  for (const auto& [number, seen] : all) {
    if (known.contains(number)) continue;
    ++(seen.ranks < ranks.size() ? count.missing : seen.warm_up ? count.warm_up : count.unmeasured);
  }
  return count;
}

}  // namespace stepscope
