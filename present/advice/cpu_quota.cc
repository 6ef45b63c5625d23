#include "analyzer/words.h"
#include "present/advice/rules.h"
#include "present/evidence_words.h"

namespace stepscope {

AdviceWords words_of(const RaiseCpuQuota& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  const CoreUse& cores = loop.starvation.cores;
  return {"raise the CPU quota to " + cores_text(facts.wanted),
          "the control group may use " + cores_text(cores.quota) +
              ", but the program's threads could use " + cores_text(cores.own_ready) +
              "; in Kubernetes the limit is resources.limits.cpu, in Docker --cpus",
          statement_of(advice.evidence, loop)};
}

}  // namespace stepscope
