#include "present/advice/advice_words.h"

#include <utility>
#include <variant>

#include "analyzer/advise/loader_words.h"
#include "present/advice/rules.h"
#include "present/evidence_words.h"

namespace stepscope {

Advice make_advice(const AdviceFacts& advice, const LoopReport& loop) {
  AdviceWords words =
      std::visit([&](const auto& facts) { return words_of(facts, advice, loop); }, advice.facts);
  return {.rule = advice.rule,
          .title = std::move(words.title),
          .why = std::move(words.why),
          .predicted_step_ns = advice.predicted_step_ns,
          .saves_ns = advice.saves_ns,
          .evidence = make_evidence(advice.evidence, std::move(words.statement)),
          .likely = advice.likely};
}

std::vector<Advice> make_advice(const LoopReport& loop) {
  std::vector<Advice> made;
  for (const AdviceFacts& advice : loop.verdict.advice) made.push_back(make_advice(advice, loop));
  return made;
}

std::string loader_with(std::initializer_list<std::string> options, std::string_view loader) {
  const bool of_trainer = is_loader_of_trainer(loader);
  std::string text = of_trainer ? "TrainingArguments(…" : "DataLoader(…";
  for (const std::string& option : options) text += (of_trainer ? ", dataloader_" : ", ") + option;
  return text + ")";
}

}  // namespace stepscope
