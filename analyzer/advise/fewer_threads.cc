// Threads that compute together and have too few cores: use fewer of them.
#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/advise/cores.h"
#include "analyzer/advise/rules.h"

namespace stepscope {

// Only for threads that share the work of one op and wait for one another: with fewer of them, each
// has a core. Independent workers keep the cores busy however many there are. Threads that spin
// while they wait count as running, so the saving is unknown.
std::optional<AdviceFacts> fewer_threads(const AdviceContext& context) {
  const Starvation& starvation = context.report.starvation;
  if (!cores_taken_by(context.report, CoreTaker::kOwnThreads) ||
      starvation.pool_share < kStallListed)
    return std::nullopt;
  const auto computing =
      1 + static_cast<std::int64_t>(std::count_if(
              starvation.pool.begin(), starvation.pool.end(), [](const ThreadShares& thread) {
                return thread.shares.running + thread.shares.starved >= kBusyThread;
              }));
  const auto wanted =
      std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(starvation.cores.available)), 1);
  if (computing <= wanted) return std::nullopt;
  return without_prediction(
      context, starved_advice(context, "fewer-threads", FewerThreads{computing, wanted}));
}

}  // namespace stepscope
