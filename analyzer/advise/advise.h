// What would help, and what a step would then take. Each rule is a function; docs/attribution.md
// tells its formula and what it assumes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// What the rules know of a loop. Means over the analysed steps, in ns.
struct AdviceInput {
  double step_ns = 0;
  double input_ns = 0;  // exposed
  InputUse input;
  std::int64_t cpu_count = 0;    // 0: unknown
  std::int64_t loop_thread = 0;  // thread.id, for the queries
  bool sees_data_again = false;  // the loader came to an end at least once and the loop went on
};

inline constexpr double kLeastInputShare = 0.05;  // below it no advice about input
inline constexpr double kLeastSaving = 0.02;      // of the step; below it no advice at all

// Fetch batches ahead with w workers: step = max(input / w, rest, (busy input + rest) / cores). The
// last term: the cores have to do the work of both. w is the least that brings the step down to the
// other two terms, at most one a core.
std::optional<Advice> input_prefetch(const AdviceInput& input);

// Keep what the loop thread decodes: step = step - busy input. For waits that are mostly busy.
std::optional<Advice> input_cache(const AdviceInput& input);

// All rules, the largest saving first.
std::vector<Advice> advise(const AdviceInput& input);

}  // namespace stepscope
