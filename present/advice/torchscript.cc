#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const Torchscript& facts, const AdviceFacts& advice, const LoopReport& loop) {
  return {
      "run the model as TorchScript",
      percent_text(facts.gap_share) +
          " of a call is code between its ops; the ops are the same in each call" +
          (loop.op_facts.same_shapes ? ", and so are their shapes"
                                     : "; this helps if their shapes are the same, too"),
      percent_text(advice.evidence.value) + " of the calls have the most frequent sequence of ops"};
}

}  // namespace stepscope
