#include "analyzer/verdict/ranks.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyzer/words.h"

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

// The middle value, the lower one of two: of an even number of ranks.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Over the ranks but `left_out`.
template <typename Value>
double median_of_others(const std::vector<const LoopReport*>& loops, const LoopReport* left_out,
                        const Value& value) {
  std::vector<double> values;
  for (const LoopReport* loop : loops) {
    if (loop != left_out) values.push_back(value(*loop));
  }
  return median(std::move(values));
}

// "input, +20.1 ms": what the slow rank spends most more on.
std::string excess_of(const LoopReport& slow, const std::vector<const LoopReport*>& loops) {
  Category most = Category::kCompute;
  double most_ns = 0;
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (category == Category::kCommunication) continue;
    const double more =
        mean_ns(slow, category) -
        median_of_others(loops, &slow, [&](const LoopReport& l) { return mean_ns(l, category); });
    if (more > most_ns) {
      most = category;
      most_ns = more;
    }
  }
  return std::string(category_name(most)) + ", +" + time_text(most_ns);
}

std::string even_sentence(const std::vector<RankRow>& rows) {
  const auto [least, most] = std::minmax_element(
      rows.begin(), rows.end(),
      [](const RankRow& a, const RankRow& b) { return a.work_ns() < b.work_ns(); });
  return "The " + std::to_string(rows.size()) + " ranks are even: between " +
         time_text(least->work_ns()) + " and " + time_text(most->work_ns()) +
         " of a step are their own work.";
}

std::string straggler_sentence(const RankRow& slow, double others_work, double others_wait,
                               std::size_t others, const std::string& excess) {
  const bool one = others == 1;
  std::string text = "Rank " + std::to_string(slow.rank) +
                     " is the slow one: " + time_text(slow.work_ns()) +
                     " of a step are its own work, " + time_text(others_work) +
                     (one ? " that of the other" : " that of the others");
  if (others_wait >= kLeastRankGap * slow.step_ns) {
    text += one ? ", which waits " : ", which wait ";
    text += time_text(others_wait) + " longer than it in communication";
  }
  return text + ". What it spends more on: " + excess + ".";
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
    report.sentence = "Which of the " + std::to_string(ranks.size()) +
                      " ranks the others wait for cannot be told: not all of them had their ops "
                      "recorded.";
    return report;
  }
  const auto slow = std::max_element(
      report.rows.begin(), report.rows.end(),
      [](const RankRow& a, const RankRow& b) { return a.work_ns() < b.work_ns(); });
  const LoopReport* const slow_loop = by_rank.at(slow->rank);
  const double others_work = median_of_others(
      ranks, slow_loop, [](const LoopReport& loop) { return row_of(loop).work_ns(); });
  report.gap_ns = slow->work_ns() - others_work;
  if (report.gap_ns < kLeastRankGap * slow->step_ns) {
    report.sentence = even_sentence(report.rows);
    return report;
  }
  const double others_wait =
      median_of_others(ranks, slow_loop,
                       [](const LoopReport& loop) { return row_of(loop).communication_ns; }) -
      slow->communication_ns;
  report.straggler = slow->rank;
  report.sentence = straggler_sentence(*slow, others_work, others_wait, ranks.size() - 1,
                                       excess_of(*slow_loop, ranks));
  return report;
}

}  // namespace stepscope
