// Threads that compute together and have too few cores: use fewer of them.
#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/advise/cores.h"
#include "analyzer/advise/rules.h"
#include "analyzer/words.h"

namespace stepscope {

// Only of threads that share the work of one op and wait for one another: taking some away makes
// room. Workers that are independent of one another keep the cores busy however many there are.
// What threads spin away while they wait counts as running, so how much is saved is not known.
std::optional<Advice> fewer_threads(const AdviceContext& context) {
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
  const std::string number = count_text(wanted);
  return without_prediction(
      context,
      starved_advice(
          context, "fewer-threads",
          wanted == 1 ? "compute with one thread" : "compute with at most " + number + " threads",
          count_text(computing) + " threads compute and wait for one another on " +
              cores_text(starvation.cores.available) + ": set OMP_NUM_THREADS=" + number +
              " or call torch.set_num_threads(" + number +
              "); what it saves shows only when tried"));
}

}  // namespace stepscope
