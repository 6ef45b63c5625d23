#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const ReadAtOnce& facts, const AdviceFacts& advice, const LoopReport& loop) {
  const std::string calls = count_text(static_cast<std::int64_t>(advice.evidence.value + 0.5));
  return {"read all results at once",
          calls + " calls of .item() a " + loop.unit() +
              " read one value each; .tolist() or .cpu() reads them all" +
              (facts.on_device ? ", and waits for the device once" : ""),
          calls + " calls of aten::item a " + loop.unit()};
}

}  // namespace stepscope
