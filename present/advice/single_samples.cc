#include <string>
#include <utility>

#include "analyzer/serving/lengths.h"
#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const SingleSamples& facts, const AdviceFacts& /*advice*/,
                     const LoopReport& loop) {
  const PaddingUse& padding = loop.padding;
  const std::string batch = "batch " + std::to_string(kAdvisedBatch);
  std::string why =
      "each call has one; in a batch, a sample would take about this long, because the launch "
      "overhead and the code between the ops are paid once per batch";
  if (facts.unequal) {
    why += "; unsorted, " + percent_text(padding.padding_share(padding.batched)) +
           " of each batch would be padding, against " +
           percent_text(padding.padding_share(padding.batched_sorted)) + " if sorted";
  }
  return {facts.unequal ? "sort by length, " + batch + " per call" : batch + " samples per call",
          std::move(why),
          facts.marked ? "one sample a call, as marked" : "the ops run on batches of one"};
}

}  // namespace stepscope
