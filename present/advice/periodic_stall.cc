#include "analyzer/words.h"
#include "present/advice/rules.h"
#include "present/population_words.h"

namespace stepscope {

AdviceWords words_of(const PeriodicStall& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  return {"move the stall out of the loop", population_label(loop, facts.population),
          count_text(loop.populations[facts.population].steps) + " steps take " +
              time_text(advice.evidence.value) + ", the usual ones " +
              time_text(static_cast<double>(loop.populations.front().mean_ns))};
}

}  // namespace stepscope
