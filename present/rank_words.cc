#include "present/rank_words.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analyzer/words.h"
#include "present/report_words.h"

namespace stepscope {
namespace {

constexpr double kMostly = 0.8;       // of a rank's wait: from here on, one rank alone is named
constexpr std::size_t kNamed = 3;     // ranks that came last and are listed one by one
constexpr std::size_t kFewRanks = 4;  // with fewer, the fastest one is the usual rank

std::string even_sentence(const RankReport& report) {
  const std::vector<RankRow>& rows = report.rows;
  const std::string ranks = "The " + std::to_string(rows.size()) + " ranks";
  if (report.wait_share >= kMinRankGap) {
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
                     " of a step, that of the " +
                     (one                              ? "other "
                      : report.rows.size() < kFewRanks ? "fastest rank "
                                                       : "usual rank ") +
                     time_text(report.usual_work_ns);
  if (slow.costs_ns >= kMinRankGap * slow.step_ns) {
    text += (one ? "; the other waits " : "; the others wait ") + time_text(slow.costs_ns) +
            " a step for it in communication";
  }
  text += ". Its largest excess: " + std::string(category_name(report.excess)) + ", +" +
          time_text(report.excess_ns);
  if (slow.excess && slow.excess->category == report.excess && slow.excess->line)
    text += ", mostly in " + short_line_text(*slow.excess->line);
  text += ".";
  if (slow.step_ns - report.step_without_ns >= kMinRankGap * slow.step_ns) {
    text += " If it were as fast as the next rank, a step would take " +
            time_text(report.step_without_ns) + " instead of " + time_text(slow.step_ns) + ".";
  }
  return text;
}

// What the rank that comes last spends more time on than the others.
const char* excess_words(Category category) {
  switch (category) {
    case Category::kCompute:
      return "its compute";
    case Category::kInput:
      return "its input";
    case Category::kCopy:
      return "its copies";
    case Category::kCommunication:
      return "its communication";
    case Category::kSync:
      return "its waits for the device";
    case Category::kLaunch:
      return "launching its ops";
    case Category::kAllocation:
      return "allocating memory";
    case Category::kHost:
      return "its code outside any op";
    case Category::kOther:
      return "its labelled scopes";
  }
  return "";
}

// "rank 0 came last in 8", the most frequent first.
std::string last_ranks(const RankReport& report) {
  std::vector<const RankRow*> rows;
  for (const RankRow& row : report.rows) {
    if (row.last_in > 0) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankRow* a, const RankRow* b) { return a->last_in > b->last_in; });
  std::string text;
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i >= kNamed) {
      rest += rows[i]->last_in;
      continue;
    }
    text += (text.empty() ? "" : ", ") + ("rank " + std::to_string(rows[i]->rank)) +
            (i == 0 ? " came last in " : " in ") + count_text(rows[i]->last_in);
  }
  if (rest > 0) text += ", other ranks in " + count_text(rest);
  return text;
}

std::string were(std::int64_t count, const char* what) {
  return count_text(count) + (count == 1 ? " was " : " were ") + what;
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

std::string rank_steps_sentence(const RankReport& report) {
  const RankSteps& steps = report.steps;
  std::vector<std::string> parts;
  if (steps.held_up > 0) parts.push_back(last_ranks(report));
  if (steps.even > 0) {
    parts.push_back("in " + count_text(steps.even) + " no rank held up the others by " +
                    percent_text(kMinRankGap) + " of the step");
  }
  if (steps.warm_up > 0) parts.push_back(were(steps.warm_up, "warm-up"));
  if (steps.missing > 0) {
    parts.push_back(count_text(steps.missing) + (steps.missing == 1 ? " is" : " are") +
                    " missing on some ranks");
  }
  if (steps.unmeasured > 0) {
    parts.push_back(
        were(steps.unmeasured, "left out: ") + "ops were " +
        (report.ops_on_all ? "recorded on only some ranks" : "not recorded on all ranks"));
  }
  if (parts.empty()) return "";
  return "Of " + count_text(steps.total) + (steps.total == 1 ? " step, " : " steps, ") +
         join(parts, "; ") + ".";
}

std::string rank_wait_clause(const RankWait& wait) {
  const std::string rank = "rank " + std::to_string(wait.rank);
  if (wait.rank_part >= kMostly) return "of the step waits for " + rank;
  return "of the step waits for other ranks, " + (wait.rank_part > 0.5
                                                      ? "most of it for " + rank
                                                      : "for " + rank + " more than for others");
}

std::string rank_wait_reason(const RankWait& wait) {
  if (!wait.excess) return "";
  const RankExcess& excess = *wait.excess;
  return "Rank " + std::to_string(wait.rank) + " comes last because of " +
         excess_words(excess.category) + ": " + time_text(excess.ns) + " more than the " +
         (wait.ranks < kFewRanks ? "fastest" : "median") + " rank in those steps" +
         (excess.line ? ", mostly in " + short_line_text(*excess.line) : "") + ".";
}

std::string rank_verdict(const RankRow& row) {
  if (row.kind == kStragglerBound && row.waits_for)
    return "waits for rank " + std::to_string(*row.waits_for);
  return row.kind;
}

std::string short_line_text(const LineShare& line) {
  return line.file.substr(line.file.rfind('/') + 1) +
         (line.line > 0 ? ":" + std::to_string(line.line) : "") + " " + line.function;
}

}  // namespace stepscope
