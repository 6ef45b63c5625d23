#include "analyzer/verdict/ranks.h"

#include <algorithm>
#include <functional>
#include <map>

#include "analyzer/median.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

double mean_ns(const LoopReport& loop, Category category) {
  return share_of(loop.shares, category) * static_cast<double>(loop.wall.mean);
}

RankRow row_of(const LoopReport& loop) {
  RankRow row;
  row.rank = loop.rank;
  row.pid = loop.pid;
  row.step_ns = static_cast<double>(loop.wall.mean);
  row.communication_ns = mean_ns(loop, Category::kCommunication);
  return row;
}

// Over all ranks except `left_out`.
template <typename Value>
double median_of_others(const std::vector<const LoopReport*>& loops, const LoopReport* left_out,
                        const Value& value) {
  std::vector<double> values;
  for (const LoopReport* loop : loops) {
    if (loop != left_out) values.push_back(value(*loop));
  }
  return lower_median(std::move(values));
}

// Fills where the straggler exceeds the others most.
void find_excess(const LoopReport& slow, const std::vector<const LoopReport*>& loops,
                 RankReport& report) {
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (category == Category::kCommunication) continue;
    const double more =
        mean_ns(slow, category) -
        median_of_others(loops, &slow, [&](const LoopReport& l) { return mean_ns(l, category); });
    if (more > report.excess_ns) {
      report.excess = category;
      report.excess_ns = more;
    }
  }
}

// What each rank did in one step.
struct Turn {
  double work_ns = 0, communication_ns = 0;
};

// By step number, a turn for each rank; only the steps that all ranks have.
std::vector<std::vector<Turn>> common_steps(const std::vector<const LoopReport*>& ranks) {
  std::map<std::int64_t, std::vector<Turn>> by_number;
  for (const LoopReport* loop : ranks) {
    for (const std::size_t i : loop->analysed) {
      const Step& step = loop->steps[i];
      const auto communication = static_cast<double>(exposed_ns(step, Category::kCommunication));
      by_number[step.number].push_back(
          {static_cast<double>(to_ns(step.dur)) - communication, communication});
    }
  }
  std::vector<std::vector<Turn>> steps;
  for (auto& [number, turns] : by_number) {
    if (turns.size() == ranks.size()) steps.push_back(std::move(turns));
  }
  return steps;
}

// Who waits for whom: in each step the rank with the most work of its own enters the collectives
// last, and the time by which the others communicate longer than it does is spent waiting for it.
// `after`: by rank, how much shorter the step would be if the rank were as fast as the next;
// summed.
void account_waits(const std::vector<std::vector<Turn>>& steps, RankReport& report,
                   std::vector<double>& after) {
  const auto count = static_cast<double>(std::max<std::size_t>(steps.size(), 1));
  const auto others = static_cast<double>(report.rows.size() - 1);
  double waited = 0, total = 0;
  for (const std::vector<Turn>& turns : steps) {
    std::vector<double> works;
    for (const Turn& turn : turns) works.push_back(turn.work_ns);
    const auto last =
        static_cast<std::size_t>(std::max_element(works.begin(), works.end()) - works.begin());
    std::nth_element(works.begin(), works.begin() + 1, works.end(), std::greater<>());
    after[last] += turns[last].work_ns - works[1];
    double wait_for_it = 0;
    for (std::size_t r = 0; r < turns.size(); ++r) {
      const double wait = std::max(0.0, turns[r].communication_ns - turns[last].communication_ns);
      report.rows[r].waits_ns += wait / count;
      wait_for_it += wait;
      total += turns[r].work_ns + turns[r].communication_ns;
    }
    report.rows[last].costs_ns += wait_for_it / others / count;
    report.rows[last].last_in += wait_for_it > 0 ? 1 : 0;
    waited += wait_for_it;
  }
  report.wait_share = total > 0 ? waited / total : 0;
  for (double& ns : after) ns /= count;
}

}  // namespace

std::optional<RankReport> compare_ranks(const std::vector<LoopReport>& loops) {
  std::map<std::int64_t, const LoopReport*> by_rank;  // the loops with most step time come first
  for (const LoopReport& loop : loops) {
    if (loop.rank >= 0 && !loop.analysed.empty()) by_rank.try_emplace(loop.rank, &loop);
  }
  if (by_rank.size() < 2) return std::nullopt;
  RankReport report;
  std::vector<const LoopReport*> ranks;
  for (const auto& [rank, loop] : by_rank) {
    ranks.push_back(loop);
    report.rows.push_back(row_of(*loop));
  }
  if (!std::all_of(ranks.begin(), ranks.end(), [](auto* loop) { return loop->ops_recorded; })) {
    report.ops_on_all = false;
    return report;
  }
  std::vector<double> saved_if_next(ranks.size());
  account_waits(common_steps(ranks), report, saved_if_next);
  const auto slow = std::max_element(
      report.rows.begin(), report.rows.end(),
      [](const RankRow& a, const RankRow& b) { return a.work_ns() < b.work_ns(); });
  const LoopReport* const slow_loop = by_rank.at(slow->rank);
  const double others_work = median_of_others(
      ranks, slow_loop, [](const LoopReport& loop) { return row_of(loop).work_ns(); });
  report.gap_ns = slow->work_ns() - others_work;
  if (report.gap_ns < kLeastRankGap * slow->step_ns) return report;
  report.straggler = slow->rank;
  report.step_without_ns =
      slow->step_ns - saved_if_next[static_cast<std::size_t>(slow - report.rows.begin())];
  report.others_work_ns = others_work;
  find_excess(*slow_loop, ranks, report);
  return report;
}

}  // namespace stepscope
