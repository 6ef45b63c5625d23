#include <string>
#include <string_view>
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

// Not "<module>", "<lambda>" or "<listcomp>", which are no names of functions: "data.py:41".
std::string name_of(const FasterLine& facts) {
  if (!facts.function.starts_with('<')) return facts.function;
  std::string_view place = facts.place;
  if (place.ends_with(" " + facts.function)) place.remove_suffix(1 + facts.function.size());
  return std::string(place.substr(place.rfind('/') + 1));
}

}  // namespace

AdviceWords words_of(const FasterLine& facts, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string share = percent_text(advice.evidence.value) + time_name(facts.of);
  const bool named = !facts.function.starts_with('<');
  std::string why = facts.place + (named ? ": the function takes " : ": it takes ") + share;
  if (!facts.inside.empty()) why += ", most of it in " + facts.inside;
  if (!facts.blocked.empty()) why += ", blocked in " + facts.blocked;
  const std::string name = name_of(facts);
  return {"make " + name + " twice as fast", std::move(why), name + " takes " + share};
}

}  // namespace stepscope
