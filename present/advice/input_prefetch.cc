#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/words.h"
#include "present/advice/rules.h"
#include "store/counted.h"

namespace stepscope {
namespace {

// "58.0 ms with 1, 40.1 ms with 2": the step time with each number of workers.
std::string marginal_gains(const std::vector<double>& steps, std::size_t wanted) {
  std::string text;
  for (std::size_t workers = 1; workers < wanted; ++workers) {
    text += (text.empty() ? "" : ", ") + time_text(steps[workers - 1]) + " with " +
            std::to_string(workers);
  }
  return text;
}

std::string all_cores(std::int64_t cores) {
  return cores == 2 ? "both cores" : "all " + std::to_string(cores) + " cores";
}

std::string why(const InputPrefetch& facts, const LoopReport& loop) {
  const double left = facts.steps[facts.wanted - 1] - facts.rest_ns;
  std::string text = left < 0.01 * facts.step_ns ? "hides the whole wait"
                                                 : time_text(left) + " of the wait would remain";
  if (facts.wanted > 1)
    text += "; " + marginal_gains(facts.steps, std::min<std::size_t>(facts.wanted, 4));
  if (!facts.works) return text + ", unless something already prefetches";
  if (facts.fills_cores) {
    return text + (facts.cores == 1 ? "; the only core is then fully busy"
                                    : "; " + all_cores(facts.cores) + " are then fully busy");
  }
  if (facts.knows_free_cores) return text;
  return text +
         (loop.trains ? ", if training leaves cores free" : ", if the model leaves cores free");
}

}  // namespace

AdviceWords words_of(const InputPrefetch& facts, const AdviceFacts& advice,
                     const LoopReport& loop) {
  std::string because = why(facts, loop);
  if (facts.data_loader) {
    because += ": " + loader_with({"num_workers=" + std::to_string(facts.wanted),
                                   "persistent_workers=True"},
                                  loop.input.loader);
  }
  return {"prefetch batches with " + counted(static_cast<std::int64_t>(facts.wanted), "worker"),
          std::move(because),
          "a batch takes " + time_text(advice.evidence.value) +
              in_units(", the rest of the step ", loop.unit()) + time_text(facts.rest_ns)};
}

}  // namespace stepscope
