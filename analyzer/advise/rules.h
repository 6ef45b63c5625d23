// The rules, one per file. A rule that does not apply, or would save less than kLeastSaving of the
// step, returns nothing; one whose saving is unknown predicts 0. docs/advice.md describes when each
// rule applies, what it assumes, and when it does not apply.
#pragma once

#include <optional>

#include "analyzer/advise/context.h"

namespace stepscope {

std::optional<Advice> input_prefetch(const AdviceContext& context);
std::optional<Advice> input_cache(const AdviceContext& context);
std::optional<Advice> more_workers(const AdviceContext& context);
std::optional<Advice> persistent_workers(const AdviceContext& context);
std::optional<Advice> faster_line(const AdviceContext& context);
std::optional<Advice> fewer_tiny_ops(const AdviceContext& context);
std::optional<Advice> fused_optimizer(const AdviceContext& context);
std::optional<Advice> periodic_stall(const AdviceContext& context);
std::optional<Advice> read_at_once(const AdviceContext& context);
std::optional<Advice> keep_freed_memory(const AdviceContext& context);

// Threads that were ready and had no core.
std::optional<Advice> fewer_threads(const AdviceContext& context);
std::optional<Advice> cpu_quota(const AdviceContext& context);
std::optional<Advice> spread_threads(const AdviceContext& context);

// Loops that never train.
std::optional<Advice> evaluation_mode(const AdviceContext& context);
std::optional<Advice> gradients_in_inference(const AdviceContext& context);
std::optional<Advice> torchscript(const AdviceContext& context);
std::optional<Advice> single_samples(const AdviceContext& context);
std::optional<Advice> sort_by_length(const AdviceContext& context);

// With a device. The last one applies where there is a device that the loop does not use.
std::optional<Advice> pinned_copies(const AdviceContext& context);
std::optional<Advice> blocking_sync(const AdviceContext& context);
std::optional<Advice> ops_on_cpu(const AdviceContext& context);
std::optional<Advice> cudnn_benchmark(const AdviceContext& context);
std::optional<Advice> idle_gpu(const AdviceContext& context);

}  // namespace stepscope
