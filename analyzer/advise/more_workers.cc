// A PyTorch loader has workers, and the loop still waits for them: more of them deliver more.
#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/advise/loader_words.h"
#include "analyzer/advise/rules.h"
#include "analyzer/median.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

constexpr int kMaxPerCore = 4;

}  // namespace

// The workers are the bottleneck: together they deliver one batch per step, so each takes as many
// steps for a batch as there are workers.
std::optional<AdviceFacts> more_workers(const AdviceContext& context) {
  const std::string& loader = context.report.input.loader;
  const int workers = worker_count(loader);
  if (workers < 1 || workers >= kMaxWorkers || !context.input_matters()) return std::nullopt;
  if (context.busy_share() >= 0.5 || !most_steps_wait(context)) return std::nullopt;
  const double batch = context.step_ns() * workers;  // ns of a worker per batch
  const double rest = context.rest_ns();
  const double least = std::max(rest, least_step_ns(context));
  const auto most = static_cast<int>(
      std::clamp<std::int64_t>(kMaxPerCore * context.cores(), workers + 1, kMaxWorkers));
  int wanted = workers + 1;
  const auto step_with = [&](int count) { return std::max(batch / count, least); };
  while (wanted < most && step_with(wanted) > kAsGood * least) ++wanted;

  AdviceFacts advice;
  advice.rule = "more-workers";
  advice.facts = MoreWorkers{workers, wanted, batch};
  advice.evidence = {EvidenceKind::kAdvice, context.step_ns() - rest, "ns", waits_query(context)};
  return with_prediction(context, step_with(wanted), std::move(advice));
}

}  // namespace stepscope
