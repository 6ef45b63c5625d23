#include "present/rank_words.h"

#include <algorithm>
#include <vector>

#include "analyzer/verdict/ranks.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

std::string even_sentence(const RankReport& report) {
  const std::vector<RankRow>& rows = report.rows;
  const std::string ranks = "The " + std::to_string(rows.size()) + " ranks";
  if (report.wait_share >= kLeastRankGap) {
    return ranks + " take turns finishing last: " + percent_text(report.wait_share) +
           " of their time is spent waiting for the slowest rank of the step.";
  }
  const auto [least, most] = std::minmax_element(
      rows.begin(), rows.end(),
      [](const RankRow& a, const RankRow& b) { return a.work_ns() < b.work_ns(); });
  return ranks + " are balanced: their own work takes " + time_text(least->work_ns()) + " to " +
         time_text(most->work_ns()) + " of a step.";
}

std::string straggler_sentence(const RankReport& report, const RankRow& slow) {
  const bool one = report.rows.size() == 2;
  std::string text = "Rank " + std::to_string(slow.rank) +
                     " is the straggler: its own work takes " + time_text(slow.work_ns()) +
                     " of a step, that of the " + (one ? "other " : "others ") +
                     time_text(report.others_work_ns);
  if (slow.costs_ns >= kLeastRankGap * slow.step_ns) {
    text += (one ? "; the other waits " : "; the others wait ") + time_text(slow.costs_ns) +
            " a step for it in communication";
  }
  text += ". Its largest excess: " + std::string(category_name(report.excess)) + ", +" +
          time_text(report.excess_ns) + ".";
  if (slow.step_ns - report.step_without_ns >= kLeastRankGap * slow.step_ns) {
    text += " If it were as fast as the next rank, a step would take " +
            time_text(report.step_without_ns) + " instead of " + time_text(slow.step_ns) + ".";
  }
  return text;
}

}  // namespace

std::string ranks_sentence(const RankReport& report) {
  if (!report.ops_on_all) {
    return "Whether one of the " + std::to_string(report.rows.size()) +
           " ranks holds up the others is unknown: ops were not recorded on all of them.";
  }
  if (!report.straggler) return even_sentence(report);
  const auto slow = std::find_if(report.rows.begin(), report.rows.end(),
                                 [&](const RankRow& row) { return row.rank == *report.straggler; });
  return slow == report.rows.end() ? "" : straggler_sentence(report, *slow);
}

}  // namespace stepscope
