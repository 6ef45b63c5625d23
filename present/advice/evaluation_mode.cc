#include <cmath>
#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const EvaluationMode& facts, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string calls = count_text(std::llround(advice.evidence.value));
  return {"use evaluation mode: eval()",
          std::string(facts.dropped ? "dropout drops activations" : "") +
              (facts.dropped && facts.normalised ? " and " : "") +
              (facts.normalised ? "batch norm takes its statistics from the batch" : "") +
              " in a loop that never trains, so " +
              (facts.dropped ? "the results are random"
                             : "a result depends on the other samples in its batch"),
          facts.dropped
              ? "dropout was called " + calls + " times and dropped activations"
              : "batch norm was called " + calls + " times and updated its batch count each time"};
}

}  // namespace stepscope
