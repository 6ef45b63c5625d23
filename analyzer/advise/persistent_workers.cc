// A PyTorch loader restarts its workers in each epoch unless it is told to keep them, so the first
// batch of an epoch takes longer.
#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/advise/loader_words.h"
#include "analyzer/advise/rules.h"
#include "analyzer/mean.h"

namespace stepscope {
namespace {

// The waits for one loader in the analysed steps, in ns.
struct EpochWaits {
  std::vector<double> first;  // of an epoch that is not the run's first
  std::vector<double> others;
};

EpochWaits epoch_waits(const AdviceContext& context) {
  EpochWaits waits;
  for (const LoaderWait& wait : loader_waits(context))
    (wait.first ? waits.first : waits.others).push_back(wait.ns);
  return waits;
}

}  // namespace

std::optional<AdviceFacts> persistent_workers(const AdviceContext& context) {
  const std::string& loader = context.report.input.loader;
  if (!loader_option(loader, "num_workers") || loader_option(loader, "persistent_workers"))
    return std::nullopt;
  const EpochWaits waits = epoch_waits(context);
  if (waits.first.empty() || waits.others.empty()) return std::nullopt;
  // Workers that start together deliver together, so the waits between two deliveries are one. Kept
  // workers too have nothing ready when an epoch begins.
  const int workers = std::max(worker_count(loader), 1);
  const double usual = workers * mean_of(waits.others);
  double extra = 0;
  for (const double wait : waits.first) extra += std::max(wait - usual, 0.0);
  const double each = extra / static_cast<double>(waits.first.size());
  const double a_step = extra / static_cast<double>(context.report.analysed.size());

  AdviceFacts advice;
  advice.rule = "persistent-workers";
  advice.facts = PersistentWorkers{static_cast<std::int64_t>(waits.first.size()), workers, usual};
  advice.evidence = {EvidenceKind::kAdvice, each, "ns",
                     "SELECT loader, step, dur_ns FROM input_stats WHERE thread_id = " +
                         std::to_string(context.loop_thread()) + " ORDER BY dur_ns DESC LIMIT 20"};
  return with_prediction(context, context.step_ns() - a_step, std::move(advice));
}

}  // namespace stepscope
