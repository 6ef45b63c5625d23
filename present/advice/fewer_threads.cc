#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"
#include "present/evidence_words.h"

namespace stepscope {

AdviceWords words_of(const FewerThreads& facts, const AdviceFacts& advice, const LoopReport& loop) {
  const std::string number = count_text(facts.wanted);
  return {
      facts.wanted == 1 ? "compute with one thread" : "compute with at most " + number + " threads",
      count_text(facts.computing) + " threads compute and wait for one another on " +
          cores_text(loop.starvation.cores.available) + ": set OMP_NUM_THREADS=" + number +
          " or call torch.set_num_threads(" + number + "); the gain is unknown until tried",
      statement_of(advice.evidence, loop)};
}

}  // namespace stepscope
