#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const InputCache& facts, const AdviceFacts& advice, const LoopReport& loop) {
  const std::string reuse = loop.use.sees_data_again
                                ? "every epoch reuses them, if they fit in memory"
                                : "helps if they are reused and fit in memory";
  return {facts.drawn ? "cache the decoded samples" : "cache the prepared samples",
          facts.drawn ? reuse +
                            "; random numbers are drawn for each sample, and whatever depends on "
                            "them must be computed again; the gain is unknown until tried"
                      : reuse,
          "the loop thread works for " + time_text(advice.evidence.value) +
              in_units(" during the waits of a step", loop.unit())};
}

}  // namespace stepscope
