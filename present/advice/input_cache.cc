#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const InputCache& /*facts*/, const AdviceFacts& advice,
                     const LoopReport& loop) {
  return {"cache the prepared samples",
          loop.use.sees_data_again ? "every epoch reuses them, if they fit in memory"
                                   : "helps if they are reused and fit in memory",
          "the loop thread works for " + time_text(advice.evidence.value) +
              in_units(" during the waits of a step", loop.unit())};
}

}  // namespace stepscope
