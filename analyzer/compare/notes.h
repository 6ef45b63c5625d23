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

// The ranks that have loops in a run; empty if it is not distributed.
std::set<std::int64_t> ranks_of(const AnalysisReport& report);

enum class SourceChange : std::uint8_t { kNone, kCommit, kUncommitted };

// How two runs differ in their program and its setup. Runs that do not state these, such as
// imported ones, do not differ.
struct SetupDifferences {
  bool program = false;  // different programs; then `arguments` is false
  SourceChange source = SourceChange::kNone;
  bool arguments = false;
  // The values in A and in B, by name; "" if the variable is not set.
  std::map<std::string, std::pair<std::string, std::string>> variables;

  [[nodiscard]] bool any() const {
    return program || source != SourceChange::kNone || arguments || !variables.empty();
  }
};
SetupDifferences differences_of(const RunFacts& a, const RunFacts& b);

}  // namespace stepscope
