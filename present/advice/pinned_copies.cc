#include <cmath>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const PinnedCopies& facts, const AdviceFacts& advice, const LoopReport& loop) {
  return {"copy from pinned memory",
          bytes_text(facts.bytes) + in_units(" a step are copied", loop.unit()) +
              " from pageable memory, and the copy call waits for them; pin_memory and "
              "non_blocking avoid the wait",
          count_text(std::llround(advice.evidence.value)) +
              in_units(" copies a step from pageable memory to the device", loop.unit())};
}

}  // namespace stepscope
