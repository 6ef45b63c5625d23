#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const MoreWorkers& facts, const AdviceFacts& advice, const LoopReport& loop) {
  return {"use " + std::to_string(facts.wanted) + " workers",
          "each takes " + time_text(facts.batch_ns) + " for a batch, and there " +
              (facts.workers == 1 ? "is one" : "are " + std::to_string(facts.workers)) +
              "; helps unless all wait for the same disk or lock: " +
              loader_with({"num_workers=" + std::to_string(facts.wanted)}, loop.input.loader),
          "the loop waits for " + time_text(advice.evidence.value) +
              in_units(" a step for its workers", loop.unit())};
}

}  // namespace stepscope
