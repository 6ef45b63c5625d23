#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {
namespace {

// Why tracing with TorchScript, the obvious fix, would not work here.
const char* script_text(NoScript why) {
  switch (why) {
    case NoScript::kOpsDiffer:
      return "; tracing does not help, as the ops differ from call to call";
    case NoScript::kShapesChange:
      return "; tracing does not help, as the shapes change";
    case NoScript::kNone:
      break;
  }
  return "";
}

}  // namespace

AdviceWords words_of(const FewerTinyOps& facts, const AdviceFacts& advice, const LoopReport& loop) {
  const std::string launch = time_text(advice.evidence.value);
  return {facts.on_device ? "use CUDA graphs, or fuse the ops" : "compile or fuse the tiny ops",
          count_text(facts.ops) + in_units(" ops a step cost ", loop.unit()) + launch +
              " of framework overhead, which at best disappears" + script_text(facts.no_script),
          in_units("the framework overhead of the ops in a step is ", loop.unit()) + launch};
}

}  // namespace stepscope
