#include <cmath>
#include <string>
#include <utility>

#include "analyzer/advise/loader_words.h"
#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const FusedOptimizer& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  const std::string ops = count_text(std::llround(advice.evidence.value));
  std::string why =
      "it runs " + ops +
      " ops a step; a fused one saves their launch overhead and the gaps between them";
  const bool of_trainer = is_loader_of_trainer(loop.input.loader);
  if (of_trainer && facts.optimizer == "AdamW") {
    why += R"(: TrainingArguments(…, optim="adamw_torch_fused"))";
  } else if (!facts.optimizer.empty()) {
    why += ": " + facts.optimizer + "(…, fused=True)";
  }
  return {"use a fused optimizer", std::move(why), "the optimizer runs " + ops + " ops a step"};
}

}  // namespace stepscope
