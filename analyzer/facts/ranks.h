// The ranks of a distributed run, compared with each other at the same steps: which of them the
// others wait for, for what, and how often. docs/attribution.md, "Ranks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts/bottleneck.h"
#include "analyzer/facts/interval.h"

namespace stepscope {

// Differences between ranks below this share of the step are noise.
inline constexpr double kMinRankGap = 0.05;

// The verdict of a rank that mostly waits for others inside its communication.
inline constexpr const char* kStragglerBound = "straggler-bound";

// What a rank spends more time on than the usual rank, in the steps in which it came last.
struct RankExcess {
  Category category = Category::kCompute;
  double ns = 0;                  // per step
  std::optional<LineShare> line;  // of the rank's code, if one has a good part of that category
};

// A rank: means over its analysed steps, in ns.
struct RankRow {
  std::int64_t rank = 0;
  std::int64_t pid = 0;
  double step_ns = 0;
  double communication_ns = 0;  // exposed
  Shares shares{};              // of its step

  // Step by step, over the compared steps:
  std::int64_t last_in = 0;               // steps in which it held up the others
  double waits_ns = 0;                    // its wait for the last rank in collectives, per step
  double costs_ns = 0;                    // the wait of each other rank for this one, per step
  std::optional<RankExcess> excess;       // if it came last in any
  std::optional<std::int64_t> waits_for;  // the rank that it waits for most

  std::string kind, degree;  // of its verdict
  double share = 0;          // of its verdict

  [[nodiscard]] double work_ns() const { return step_ns - communication_ns; }
};

// How the comparison went, step by step. Each step of the run counts once.
struct RankSteps {
  std::int64_t total = 0;
  std::int64_t held_up = 0;     // one rank came last, and the others waited for it
  std::int64_t even = 0;        // they waited for less than kMinRankGap of the step
  std::int64_t warm_up = 0;     // of some rank
  std::int64_t missing = 0;     // not all ranks have it
  std::int64_t unmeasured = 0;  // ops were recorded on some ranks only, or on none

  [[nodiscard]] std::int64_t compared() const { return held_up + even; }
};

struct RankReport {
  std::vector<RankRow> rows;  // by rank
  RankSteps steps;
  std::optional<std::int64_t> straggler;  // the rank for which the others wait
  double gap_ns = 0;                      // its own work minus that of the usual rank
  double wait_share = 0;                  // of all ranks' time, spent waiting for the last rank
  double step_without_ns = 0;             // with the straggler as fast as the next rank; 0: none
  bool ops_on_all = true;                 // else none of these is known
  double usual_work_ns = 0;               // of a straggler: the own work of the usual rank
  Category excess = Category::kCompute;   // of a straggler: where it exceeds the usual rank most
  double excess_ns = 0;
};

// How long the loop of a rank waits for others, inside its communication.
struct RankWait {
  std::size_t ranks = 0;                              // how many there are
  std::vector<std::pair<std::size_t, double>> steps;  // the compared ones: index, wait in ns
  double share = 0;                                   // of their time
  Interval ci;                                        // of share
  std::int64_t rank = -1;                             // the one that it waits for most
  double rank_part = 0;                               // that rank's part of the wait
  std::optional<RankExcess> excess;                   // why that rank comes last
  std::string query;                                  // SQL on the store that gives `share`
};

}  // namespace stepscope
