// A figure that a verdict or an advice rests on, and the query on the store that shows it.
// present/evidence_words.h says it in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stepscope {

enum class EvidenceKind : std::uint8_t {
  kShare,            // the share of the step that decided
  kPopulation,       // the mean of a kind of step
  kDrift,            // the change of the steps over the run
  kMemoryWaits,      // the share of the time in which some task waited for memory
  kPagesRead,        // pages that came back from disk
  kMemoryAvailable,  // the least memory available
  kLoopStarved,      // the share of the step in which the loop thread had no core
  kPoolStarved,      // the same for the threads that compute for it
  kWorkersStarved,   // the same for the workers that it waited for
  kRankWait,         // the share of the step in which a rank waited for the last one
  kDeath,            // the exit code or signal of the process
  kAdvice,           // evidence of advice
};

struct EvidenceFact {
  EvidenceKind kind = EvidenceKind::kAdvice;
  double value = 0;
  std::string unit;            // "ratio", "ns", "count", "bytes"
  std::string query;           // SQL on this store that shows it
  std::size_t population = 0;  // for kPopulation: index in LoopReport::populations
};

}  // namespace stepscope
