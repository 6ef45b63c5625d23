#include "analyzer/words.h"
#include "present/advice/rules.h"
#include "present/evidence_words.h"

namespace stepscope {

AdviceWords words_of(const SpreadThreads& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  const CoreUse& cores = loop.starvation.cores;
  return {facts.workers ? "let the workers run on all cores" : "let the program run on all cores",
          "they are pinned to " + cores_text(static_cast<double>(cores.pinned_to)) + " while " +
              cores_text(cores.idle) +
              " stand idle: look for taskset, numactl, OMP_PROC_BIND, GOMP_CPU_AFFINITY, or a "
              "library that narrows the affinity",
          statement_of(advice.evidence, loop)};
}

}  // namespace stepscope
