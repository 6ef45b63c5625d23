#include <cmath>
#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const BlockingSync& facts, const AdviceFacts& advice, const LoopReport& loop) {
  const double reads = facts.waiting_reads;
  return {
      "do not wait for the device",
      (reads < 0.5 ? "calls that wait for the device (including .item() and copies to the host) "
                     "delay the next launches"
                   : ".item() waits for the device " + count_text(std::llround(reads)) +
                         " times a " + loop.unit() + " and delays the next launches") +
          std::string("; at best, no wait is needed in a ") + loop.unit(),
      in_units("without the waits, a step would be shorter by ", loop.unit()) +
          time_text(advice.evidence.value)};
}

}  // namespace stepscope
