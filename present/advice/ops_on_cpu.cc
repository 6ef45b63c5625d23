#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const OpsOnCpu& facts, const AdviceFacts& advice, const LoopReport& loop) {
  const std::string time = time_text(advice.evidence.value) + " a " + loop.unit();
  return {"move these ops to the device",
          facts.op + " runs on the CPU for " + time +
              (facts.others > 0 ? ", and " + count_text(facts.others) + " more do" : "") +
              "; at best, this takes no time on the device",
          facts.op + " launched nothing and ran on the host for " + time};
}

}  // namespace stepscope
