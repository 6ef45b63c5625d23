#include "analyzer/verdict/ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/median.h"
#include "analyzer/verdict/rank_steps.h"
#include "analyzer/verdict/rank_wait.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

constexpr double kGoodPart = 0.25;  // of its category, for a line to be named

double mean_ns(const LoopReport& loop, Category category) {
  return share_of(loop.shares, category) * static_cast<double>(loop.wall.mean);
}

// The usual value. For fewer than four ranks the lowest, because half of them may be slow
// (docs/fleet.md).
double usual(std::vector<double> values) {
  if (values.size() < 4) return *std::min_element(values.begin(), values.end());
  return (lower_median(values) + upper_median(values)) / 2;
}

using Loops = std::vector<const LoopReport*>;

template <typename Value>
double usual_of(const Loops& loops, const Value& value) {
  std::vector<double> values;
  for (const LoopReport* loop : loops) values.push_back(value(*loop));
  return usual(std::move(values));
}

// Finds the category in which the straggler exceeds the usual rank most.
void find_excess(const LoopReport& slow, const Loops& loops, RankReport& report) {
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (category == Category::kCommunication) continue;
    const double more = mean_ns(slow, category) - usual_of(loops, [&](const LoopReport& loop) {
                          return mean_ns(loop, category);
                        });
    if (more > report.excess_ns) {
      report.excess = category;
      report.excess_ns = more;
    }
  }
}

bool is_about(const LineShare& line, Category category) {
  const std::string_view about = line.category;
  switch (category) {
    case Category::kInput:
      return about == "input";
    case Category::kHost:
    case Category::kOther:
      return about == "host" && line.place == LinePlace::kLoop;
    case Category::kCompute:
      return about == "forward" || about == "backward" || about == "optimizer";
    default:
      return false;
  }
}

// The line with the most time of a category; the makers of batches come before the thread that
// waits for them.
std::optional<LineShare> line_of(const LoopReport& loop, Category category) {
  const LineShare* best = nullptr;
  for (const LineShare& line : loop.lines) {
    if (!is_about(line, category) || line.share < kGoodPart) continue;
    if (line.samples < LineUse::kFewest) continue;
    const auto precedes = [](const LineShare& a, const LineShare& b) {
      return a.place == b.place ? a.step > b.step : a.place == LinePlace::kWorker;
    };
    if (best == nullptr || precedes(line, *best)) best = &line;
  }
  return best == nullptr || loop.line_use.withheld ? std::nullopt : std::optional(*best);
}

// The excess of this rank in the steps in which it held up the others.
std::optional<RankExcess> excess_of(std::size_t rank, const Loops& loops,
                                    const std::vector<ComparedStep>& steps) {
  std::array<double, kCategoryCount> more{};
  double count = 0;
  for (const ComparedStep& step : steps) {
    if (step.last != rank || !step.held_up) continue;
    ++count;
    for (std::size_t c = 0; c < more.size(); ++c) {
      std::vector<double> values;
      for (std::size_t r = 0; r < loops.size(); ++r)
        values.push_back(static_cast<double>(
            exposed_ns(loops[r]->steps[step.turns[r].index], static_cast<Category>(c))));
      more[c] += values[rank] - usual(values);
    }
  }
  more[static_cast<std::size_t>(Category::kCommunication)] = 0;
  const auto most = std::max_element(more.begin(), more.end());
  if (count == 0 || *most <= 0) return std::nullopt;
  const auto category = static_cast<Category>(most - more.begin());
  return RankExcess{category, *most / count, line_of(*loops[rank], category)};
}

// SQL that gives the share of its steps in which this loop waited for the last rank.
std::string wait_query(const LoopReport& own, const Loops& loops) {
  const auto number = [](auto id) { return std::to_string(static_cast<std::uint32_t>(id)); };
  std::string which;
  for (const LoopReport* loop : loops) {
    which += (which.empty() ? "(" : ", (") + number(loop->verdict.thread) + ", " +
             number(loop->verdict.device) + ")";
  }
  const std::string mine = "iif(thread_id = " + number(own.verdict.thread) + " AND ifnull(" +
                           "device_id, 0) = " + number(own.verdict.device) + ", ";
  return "SELECT 1.0 * sum(max(0, mine - last)) / sum(dur) AS share FROM (SELECT number, "
         "max(dur_ns - communication_ns), communication_ns AS last, sum(" +
         mine + "communication_ns, 0)) AS mine, sum(" + mine +
         "dur_ns, 0)) AS dur FROM step_breakdown WHERE population > 0 AND (thread_id, "
         "ifnull(device_id, 0)) IN (VALUES " +
         which + ") GROUP BY number HAVING count(*) = " + std::to_string(loops.size()) + ")";
}

// The ranks, and the steps in which they were compared.
class Comparison {
 public:
  explicit Comparison(std::vector<LoopReport*> loops)
      : loops_(loops.begin(), loops.end()),
        own_(std::move(loops)),
        steps_(compared_steps(loops_)),
        waits_(loops_.size(), std::vector<double>(loops_.size())) {}

  void account(const std::optional<StepSpan>& only, RankReport& report) {
    report.steps = count_steps(loops_, steps_, only);
    const double count = std::max<double>(static_cast<double>(steps_.size()), 1);
    const double others = static_cast<double>(loops_.size()) - 1;
    double waited = 0, total = 0;
    for (const ComparedStep& step : steps_) {
      report.rows[step.last].last_in += step.held_up ? 1 : 0;
      for (std::size_t r = 0; r < loops_.size(); ++r) {
        const double wait = step.wait_ns(r);
        waits_[r][step.last] += wait;
        report.rows[r].waits_ns += wait / count;
        report.rows[step.last].costs_ns += wait / others / count;
        waited += wait;
        total += step.turns[r].work_ns + step.turns[r].communication_ns;
      }
    }
    report.wait_share = total > 0 ? waited / total : 0;
    for (std::size_t r = 0; r < loops_.size(); ++r)
      report.rows[r].excess = excess_of(r, loops_, steps_);
    for (std::size_t r = 0; r < loops_.size(); ++r) add_wait(r, report);
  }

  // The rank for which the others wait, if its work exceeds that of the usual rank.
  void find_straggler(RankReport& report) const {
    const auto slow = std::max_element(
        report.rows.begin(), report.rows.end(),
        [](const RankRow& a, const RankRow& b) { return a.work_ns() < b.work_ns(); });
    std::vector<double> works;
    for (const RankRow& row : report.rows) works.push_back(row.work_ns());
    report.usual_work_ns = usual(std::move(works));
    report.gap_ns = slow->work_ns() - report.usual_work_ns;
    if (report.gap_ns < kMinRankGap * slow->step_ns) return;
    const auto rank = static_cast<std::size_t>(slow - report.rows.begin());
    double saved = 0;
    for (const ComparedStep& step : steps_) saved += step.last == rank ? step.saved_ns : 0;
    report.straggler = slow->rank;
    report.step_without_ns =
        slow->step_ns - saved / std::max<double>(static_cast<double>(steps_.size()), 1);
    find_excess(*loops_[rank], loops_, report);
  }

 private:
  void add_wait(std::size_t rank, RankReport& report) const {
    const std::vector<double>& by = waits_[rank];
    const auto most = static_cast<std::size_t>(std::max_element(by.begin(), by.end()) - by.begin());
    RankRow& row = report.rows[rank];
    const double all = row.waits_ns * static_cast<double>(steps_.size());
    if (all <= 0) return;
    row.waits_for = report.rows[most].rank;
    RankWait wait;
    wait.ranks = loops_.size();
    for (const ComparedStep& step : steps_)
      wait.steps.emplace_back(step.turns[rank].index, step.wait_ns(rank));
    wait.rank = *row.waits_for;
    wait.rank_part = by[most] / all;
    wait.excess = report.rows[most].excess;
    wait.query = wait_query(*loops_[rank], loops_);
    own_[rank]->rank_wait = std::move(wait);
  }

  const Loops loops_;
  const std::vector<LoopReport*> own_;  // the same, writable
  const std::vector<ComparedStep> steps_;
  std::vector<std::vector<double>> waits_;  // the wait of each rank for each other
};

RankRow row_of(const LoopReport& loop) {
  RankRow row;
  row.rank = loop.rank;
  row.pid = loop.pid;
  row.step_ns = static_cast<double>(loop.wall.mean);
  row.communication_ns = mean_ns(loop, Category::kCommunication);
  row.shares = loop.shares;
  return row;
}

// "ranks 0, 3", "ranks 0–63"
std::string rank_list(const std::set<std::int64_t>& ranks) {
  const std::int64_t first = *ranks.begin(), last = *ranks.rbegin();
  if (last - first + 1 == std::ssize(ranks) && last > first)
    return "ranks " + std::to_string(first) + "–" + std::to_string(last);
  std::string text;
  for (const std::int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

// Without ops, a wait for another rank looks like work of the backward pass.
void doubt_compute(LoopReport& loop) {
  if (loop.ops_recorded || loop.verdict.kind != "compute-bound") return;
  loop.verdict.confidence = "low";
  loop.basis.doubts.push_back({DoubtKind::kRanksUnknown});
}

// The rank that may hold up the others: it computes for the smallest part of its step.
std::int64_t least_computing(const RankReport& report) {
  const auto computes = [](const RankRow& row) { return share_of(row.shares, Category::kCompute); };
  return std::ranges::min_element(report.rows, {}, computes)->rank;
}

void put_first(std::int64_t rank, std::vector<LoopReport>& loops) {
  std::stable_partition(loops.begin(), loops.end(),
                        [rank](const LoopReport& loop) { return loop.rank == rank; });
}

}  // namespace

std::optional<RankReport> compare_ranks(std::vector<LoopReport>& loops,
                                        const std::optional<StepSpan>& only) {
  std::map<std::int64_t, LoopReport*> by_rank;
  for (LoopReport& loop : loops) {
    if (loop.rank >= 0 && !loop.analysed.empty()) by_rank.try_emplace(loop.rank, &loop);
  }
  if (by_rank.size() < 2) return std::nullopt;
  RankReport report;
  std::vector<LoopReport*> ranks;
  for (const auto& [rank, loop] : by_rank) {
    ranks.push_back(loop);
    report.rows.push_back(row_of(*loop));
  }
  report.ops_on_all =
      std::all_of(ranks.begin(), ranks.end(), [](auto* loop) { return loop->ops_recorded; });
  if (report.ops_on_all) {
    Comparison comparison(ranks);
    comparison.account(only, report);
    comparison.find_straggler(report);
    for (LoopReport* loop : ranks) judge_rank_wait(*loop);
  } else {
    report.steps = count_steps({ranks.begin(), ranks.end()}, {}, only);
    for (LoopReport* loop : ranks) doubt_compute(*loop);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    report.rows[r].kind = ranks[r]->verdict.kind;
    report.rows[r].degree = ranks[r]->verdict.degree;
    report.rows[r].share = ranks[r]->verdict.share;
  }
  put_first(
      report.straggler.value_or(report.ops_on_all ? loops.front().rank : least_computing(report)),
      loops);
  return report;
}

Status keep_rank(AnalysisReport& report, std::int64_t rank) {
  std::set<std::int64_t> known;
  for (const LoopReport& loop : report.loops) {
    if (loop.rank >= 0) known.insert(loop.rank);
  }
  if (!known.contains(rank)) {
    return Status::error(ErrorKind::kUsage,
                         "--rank " + std::to_string(rank) + ": the run has " +
                             (known.empty() ? "no ranks; omit --rank" : rank_list(known)));
  }
  std::erase_if(report.loops, [rank](const LoopReport& loop) { return loop.rank != rank; });
  return {};
}

}  // namespace stepscope
