#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {
namespace {

std::string why_it_is_off(CudnnMode mode, const std::string& unit) {
  switch (mode) {
    case CudnnMode::kRecordedOff:
      return "cuDNN's benchmark mode is off";
    case CudnnMode::kTriedNothing:
      return "the first " + unit + " tried no other kernels, so cuDNN's benchmark mode is off";
    case CudnnMode::kUnknown:
      break;
  }
  return "it is unknown whether cuDNN's benchmark mode is on, as the first " + unit +
         " was not recorded";
}

}  // namespace

AdviceWords words_of(const CudnnBenchmark& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  const std::string share = percent_text(advice.evidence.value), unit = loop.unit();
  return {"turn on cuDNN's benchmark mode",
          share + " of device time is spent in convolutions of the same " +
              (loop.op_facts.same_shapes ? "shapes" : "ops") + " in each " + unit + "; " +
              why_it_is_off(facts.mode, unit) + ". The gain is unknown until tried",
          share + " of kernel time is spent in convolutions"};
}

}  // namespace stepscope
