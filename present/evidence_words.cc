#include "present/evidence_words.h"

#include <cmath>
#include <utility>

#include "analyzer/words.h"
#include "present/death_words.h"
#include "present/population_words.h"
#include "present/verdict_words.h"

namespace stepscope {

std::string statement_of(const EvidenceFact& fact, const LoopReport& loop) {
  switch (fact.kind) {
    case EvidenceKind::kShare:
    case EvidenceKind::kRankWait:
      return percent_text(fact.value) + " " + verdict_clause(loop);
    case EvidenceKind::kPopulation:
      return count_text(loop.populations[fact.population].steps) +
             in_units(" steps: ", loop.unit()) + population_label(loop, fact.population);
    case EvidenceKind::kDrift:
      return in_units("mean of the later steps minus that of the earlier ones", loop.unit());
    case EvidenceKind::kMemoryWaits:
      return "some task on the machine waited for memory during " + percent_text(fact.value) +
             " of these steps";
    case EvidenceKind::kPagesRead:
      return "the process read " + count_text(std::llround(fact.value)) + " pages back from disk";
    case EvidenceKind::kMemoryAvailable:
      return "available memory fell to " + bytes_text(fact.value);
    case EvidenceKind::kLoopStarved:
      return "the loop thread was ready and had no core for " + percent_text(fact.value) +
             in_units(" of the step", loop.unit());
    case EvidenceKind::kPoolStarved:
      return "the threads that compute for the loop thread had no core for " +
             percent_text(fact.value) + " of the time";
    case EvidenceKind::kWorkersStarved:
      return "the loop thread waited for workers without a core for " + percent_text(fact.value) +
             in_units(" of the step", loop.unit());
    case EvidenceKind::kDeath:
      return loop.death ? death_sentence(*loop.death) : "";
    case EvidenceKind::kAdvice:
      break;
  }
  return "";
}

Evidence make_evidence(const EvidenceFact& fact, std::string statement) {
  return {std::move(statement), fact.value, fact.unit, fact.query};
}

}  // namespace stepscope
