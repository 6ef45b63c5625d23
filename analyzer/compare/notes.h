// Finds what makes two runs hard to compare.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/report.h"

namespace stepscope {

// With fewer steps than this, a note says so.
inline constexpr std::size_t kEnoughSteps = 20;

// `comparison` must already have its loops. The most important note first.
std::vector<Note> notes_of(const AnalysisReport& a, const AnalysisReport& b,
                           const Comparison& comparison);

// The ranks that a run has loops of; empty where it is not distributed.
std::set<std::int64_t> ranks_of(const AnalysisReport& report);

enum class SourceChange : std::uint8_t { kNone, kCommit, kUncommitted };

// What was run, and with what, where two runs differ in it. Runs that do not say, as imported ones,
// differ in nothing.
struct SetupDifferences {
  bool program = false;  // the others are then still those of their setup, but for arguments
  SourceChange source = SourceChange::kNone;
  bool arguments = false;
  // By name, in A and in B; "" where the variable is not set.
  std::map<std::string, std::pair<std::string, std::string>> variables;

  [[nodiscard]] bool any() const {
    return program || source != SourceChange::kNone || arguments || !variables.empty();
  }
};
SetupDifferences differences_of(const RunFacts& a, const RunFacts& b);

}  // namespace stepscope
