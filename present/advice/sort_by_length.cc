#include <string>

#include "analyzer/serving/lengths.h"
#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const SortByLength& facts, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string padding = percent_text(advice.evidence.value);
  return {"sort the samples by length",
          padding + " of the computed elements are padding; sorted only within " +
              std::to_string(kBucket) + " batches, as a stream allows, a call would take " +
              time_text(facts.bucketed_ns),
          padding + " of the elements of all batches are padding"};
}

}  // namespace stepscope
