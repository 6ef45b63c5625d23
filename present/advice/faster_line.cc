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

// A line without its folder: "data.py:41".
std::string name_of(const FasterLine& facts) {
  if (!facts.function.empty()) return facts.function;
  return facts.place.substr(facts.place.rfind('/') + 1);
}

}  // namespace

AdviceWords words_of(const FasterLine& facts, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string share = percent_text(advice.evidence.value) + time_name(facts.of);
  std::string why =
      facts.place + (facts.function.empty() ? ": it takes " : ": the function takes ") + share;
  if (!facts.inside.empty()) why += ", most of it in " + facts.inside;
  if (!facts.blocked.empty()) why += ", blocked in " + facts.blocked;
  const std::string name = name_of(facts);
  return {"make " + name + " twice as fast", std::move(why), name + " takes " + share};
}

}  // namespace stepscope
