#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const GradientsInInference& /*facts*/, const AdviceFacts& advice,
                     const LoopReport& /*loop*/) {
  const std::string made = count_text(static_cast<std::int64_t>(advice.evidence.value + 0.5));
  return {"disable gradients: no_grad()",
          "each call creates " + made +
              " autograd nodes and never uses them; the tensors that they save stay in memory "
              "until the call ends",
          "a call creates " + made + " autograd nodes, and the run has no backward pass"};
}

}  // namespace stepscope
