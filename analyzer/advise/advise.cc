#include "analyzer/advise/advise.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analyzer/words.h"

namespace stepscope {
namespace {

std::string waits_query(const AdviceInput& input) {
  if (input.input.inferred) {
    return "SELECT number, input_ns, dur_ns FROM step_breakdown WHERE thread_id = " +
           std::to_string(input.loop_thread) + " ORDER BY input_ns DESC";
  }
  return "SELECT step, dur_ns, cpu_ns, busy_share FROM input_stats WHERE thread_id = " +
         std::to_string(input.loop_thread) + " AND step IS NOT NULL ORDER BY dur_ns DESC";
}

std::optional<Advice> finish(const AdviceInput& input, double predicted, Advice advice) {
  if (input.step_ns - predicted < kLeastSaving * input.step_ns) return std::nullopt;
  advice.predicted_step_ns = std::llround(predicted);
  advice.saves_ns = std::llround(input.step_ns) - advice.predicted_step_ns;
  return advice;
}

bool input_matters(const AdviceInput& input) {
  return input.step_ns > 0 && input.input.waits > 0 &&
         input.input_ns >= kLeastInputShare * input.step_ns;
}

// What is not known is taken for work: prefetching it needs a core.
double busy_share_of(const AdviceInput& input) {
  return input.input.inferred ? 1 : input.input.busy_share();
}

std::string workers_text(std::int64_t workers) {
  return std::to_string(workers) + (workers == 1 ? " worker" : " workers");
}

// What is left of the wait, what would be with fewer workers, and what the prediction takes for
// granted.
std::string prefetch_why(const AdviceInput& input, double predicted, std::int64_t workers) {
  const double rest = input.step_ns - input.input_ns;
  const double left = predicted - rest;
  const bool hides_all = left < 0.01 * input.step_ns;
  std::string why =
      hides_all ? "hides the whole wait" : time_text(left) + " of the wait would be left";
  if (hides_all && workers > 1) {
    const double fewer = input.input_ns / static_cast<double>(workers - 1) - rest;
    why += "; with " + workers_text(workers - 1) + " " + time_text(fewer) + " would be left";
  }
  if (busy_share_of(input) < 0.5) return why + ", if nothing fetches ahead yet";
  if (!hides_all && input.cpu_count > 0)
    why += ": " + std::to_string(input.cpu_count) + " cores do it all";
  return why + ", if training leaves cores free";
}

}  // namespace

std::optional<Advice> input_prefetch(const AdviceInput& input) {
  if (!input_matters(input)) return std::nullopt;
  const double rest = input.step_ns - input.input_ns;
  const double busy = input.input_ns * busy_share_of(input);
  const double cores = static_cast<double>(std::max<std::int64_t>(input.cpu_count, 0));
  const double least = std::max({rest, cores > 0 ? (busy + rest) / cores : 0, 1.0});
  const double wanted = std::min(std::ceil(input.input_ns / least), 1e6);
  const auto most = std::max<std::int64_t>(input.cpu_count, 1);
  const auto workers = std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, most);
  const double predicted = std::max(least, input.input_ns / static_cast<double>(workers));

  Advice advice;
  advice.rule = "input-prefetch";
  advice.title = "prefetch batches with " + workers_text(workers);
  advice.why = prefetch_why(input, predicted, workers);
  advice.evidence = {
      "a batch takes " + time_text(input.input_ns) + ", the rest of the step " + time_text(rest),
      input.input_ns, "ns", waits_query(input)};
  return finish(input, predicted, std::move(advice));
}

std::optional<Advice> input_cache(const AdviceInput& input) {
  const double busy_share = input.input.busy_share();
  if (!input_matters(input) || busy_share < 0.5) return std::nullopt;
  const double busy = input.input_ns * busy_share;

  Advice advice;
  advice.rule = "input-cache";
  advice.title = "cache the prepared samples";
  advice.why = input.sees_data_again ? "they are seen again every epoch; if they fit in memory"
                                     : "if they are seen again and fit in memory";
  advice.evidence = {"the loop thread works for " + time_text(busy) + " in the waits of a step",
                     busy, "ns", waits_query(input)};
  return finish(input, input.step_ns - busy, std::move(advice));
}

std::vector<Advice> advise(const AdviceInput& input) {
  std::vector<Advice> result;
  for (auto* rule : {input_prefetch, input_cache}) {
    if (auto advice = rule(input)) result.push_back(*std::move(advice));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Advice& a, const Advice& b) { return a.saves_ns > b.saves_ns; });
  return result;
}

}  // namespace stepscope
