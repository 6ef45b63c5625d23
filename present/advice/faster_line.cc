#include <string>
#include <utility>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {
namespace {

const char* time_name(LineTime time) {
  switch (time) {
    case LineTime::kBatch:
      return " of the time in which a batch is made";
    case LineTime::kInputWait:
      return " of the wait for input";
    case LineTime::kBetweenPhases:
      break;
  }
  return " of the time between the phases";
}

}  // namespace

AdviceWords words_of(const FasterLine& facts, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string share = percent_text(advice.evidence.value) + time_name(facts.of);
  std::string why = facts.place + ": it takes " + share;
  if (!facts.inside.empty()) why += ", most of it in " + facts.inside;
  if (!facts.blocked.empty()) why += ", blocked in " + facts.blocked;
  return {"make " + facts.function + " twice as fast", std::move(why),
          facts.function + " takes " + share};
}

}  // namespace stepscope
