#include "present/report_ranks.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analyzer/words.h"
#include "present/rank_words.h"
#include "present/report_words.h"

namespace stepscope {
namespace {

constexpr std::size_t kMaxRows = 16;

// The ranks that cost the others most, in the order of rank.
std::vector<const RankRow*> chosen_rows(const RankReport& ranks) {
  std::vector<const RankRow*> rows;
  for (const RankRow& row : ranks.rows) rows.push_back(&row);
  if (rows.size() <= kMaxRows) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankRow* a, const RankRow* b) { return a->costs_ns > b->costs_ns; });
  rows.resize(kMaxRows);
  std::sort(rows.begin(), rows.end(),
            [](const RankRow* a, const RankRow* b) { return a->rank < b->rank; });
  return rows;
}

std::string row_text(const RankRow& row, const RankReport& ranks) {
  const auto share = [&row](Category category, std::size_t width) {
    return pad_left(percent_text(share_of(row.shares, category)), width);
  };
  const bool known = ranks.ops_on_all && ranks.steps.compared() > 0;
  const auto if_known = [known](const std::string& text) { return known ? text : "?"; };
  const std::string last = count_text(row.last_in) + " of " + count_text(ranks.steps.compared());
  return pad_left(std::to_string(row.rank), 6) + pad_left(std::to_string(row.pid), 9) +
         pad_left(time_text(row.step_ns), 9) + share(Category::kInput, 8) +
         share(Category::kCompute, 9) + share(Category::kCommunication, 8) +
         pad_left(if_known(time_text(row.waits_ns)), 9) +
         pad_left(if_known(time_text(row.costs_ns)), 9) + pad_left(if_known(last), 11) + "  " +
         rank_verdict(row);
}

std::string rows_text(const AnalysisReport& report, const Palette& palette) {
  const RankReport& ranks = *report.ranks;
  const auto& hosts = report.run.hosts;
  const std::string host = hosts.empty()       ? ""
                           : hosts.size() == 1 ? " on " + hosts.front()
                                               : " on " + std::to_string(hosts.size()) + " hosts";
  std::string text =
      "\n  " + palette.bold(std::to_string(ranks.rows.size()) + " ranks" + host) + "\n" +
      palette.dim(pad_left("rank", 6) + pad_left("process", 9) + pad_left("step", 9) +
                  pad_left("input", 8) + pad_left("compute", 9) + pad_left("comm.", 8) +
                  pad_left("waits", 9) + pad_left("costs", 9) + pad_left("last in", 11) +
                  "  verdict") +
      "\n";
  const std::vector<const RankRow*> rows = chosen_rows(ranks);
  for (const RankRow* row : rows) {
    const std::string line = cut(row_text(*row, ranks), kPageWidth);
    text += (ranks.straggler == row->rank ? palette.yellow(line) : line) + "\n";
  }
  if (rows.size() < ranks.rows.size())
    text += "    and " + count_text(std::ssize(ranks.rows) - std::ssize(rows)) +
            " more that cost the others less; --json has all\n";
  return text + "  " +
         palette.dim(
             "waits: per step, for other ranks; costs: per step, how long each other rank waits "
             "for "
             "it") +
         "\n";
}

}  // namespace

std::string ranks_block(const AnalysisReport& report, const Palette& palette, bool table) {
  if (!report.ranks) return "";
  std::string text = "\n";
  for (const std::string& line : wrap(ranks_sentence(*report.ranks), kPageWidth - 2))
    text += "  " + (report.ranks->straggler ? palette.yellow(line) : line) + "\n";
  if (!table) return text;
  const std::string steps =
      in_units(rank_steps_sentence(*report.ranks), report.loops.front().unit());
  for (const std::string& line : wrap(steps, kPageWidth - 2)) text += "  " + line + "\n";
  return text + rows_text(report, palette);
}

}  // namespace stepscope
