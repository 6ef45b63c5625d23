#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const IdleGpu& /*facts*/, const AdviceFacts& advice, const LoopReport& loop) {
  return {"move the model to the GPU",
          percent_text(share_of(loop.shares, Category::kCompute)) + " of the " + loop.unit() +
              " is compute on the CPU while " +
              (loop.use.gpus == 1 ? "the machine's GPU is idle"
                                  : count_text(loop.use.gpus) + " GPUs are idle") +
              "; the speed on the GPU is unknown until tried",
          "the busiest GPU is busy for " + percent_text(advice.evidence.value) + " meanwhile"};
}

}  // namespace stepscope
