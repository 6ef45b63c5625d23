#include <cmath>
#include <string>
#include <utility>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const FusedOptimizer& facts, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string ops = count_text(std::llround(advice.evidence.value));
  std::string why =
      "it runs " + ops +
      " ops a step; a fused one saves their launch overhead and the gaps between them";
  if (!facts.optimizer.empty()) why += ": " + facts.optimizer + "(…, fused=True)";
  return {"use a fused optimizer", std::move(why), "the optimizer runs " + ops + " ops a step"};
}

}  // namespace stepscope
