#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const PersistentWorkers& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  const double longer = advice.evidence.value;
  return {
      "keep the workers between epochs",
      "they restart in each epoch: its first batch takes " + time_text(facts.usual_ns + longer) +
          ", " +
          (facts.workers == 1 ? "the others " : count_text(facts.workers) + " others together ") +
          time_text(facts.usual_ns) + "; " +
          loader_with({"persistent_workers=True"}, loop.input.loader),
      "the first batches of " + count_text(facts.epochs) + " epochs take " + time_text(longer) +
          " longer than the others"};
}

}  // namespace stepscope
