// The rules, one per file. A rule that does not apply, or would save less than kMinSaving of the
// step, returns nothing; one whose saving is unknown predicts 0. docs/advice.md describes when each
// rule applies, what it assumes, and when it does not apply.
#pragma once

#include <optional>

#include "analyzer/advise/context.h"

namespace stepscope {

std::optional<AdviceFacts> input_prefetch(const AdviceContext& context);
std::optional<AdviceFacts> input_cache(const AdviceContext& context);
std::optional<AdviceFacts> more_workers(const AdviceContext& context);
std::optional<AdviceFacts> persistent_workers(const AdviceContext& context);
std::optional<AdviceFacts> faster_line(const AdviceContext& context);
std::optional<AdviceFacts> fewer_tiny_ops(const AdviceContext& context);
std::optional<AdviceFacts> fused_optimizer(const AdviceContext& context);
std::optional<AdviceFacts> periodic_stall(const AdviceContext& context);
std::optional<AdviceFacts> read_at_once(const AdviceContext& context);
std::optional<AdviceFacts> keep_freed_memory(const AdviceContext& context);

// Threads that were ready and had no core.
std::optional<AdviceFacts> fewer_threads(const AdviceContext& context);
std::optional<AdviceFacts> cpu_quota(const AdviceContext& context);
std::optional<AdviceFacts> spread_threads(const AdviceContext& context);

// Loops that never train.
std::optional<AdviceFacts> evaluation_mode(const AdviceContext& context);
std::optional<AdviceFacts> gradients_in_inference(const AdviceContext& context);
std::optional<AdviceFacts> torchscript(const AdviceContext& context);
std::optional<AdviceFacts> single_samples(const AdviceContext& context);
std::optional<AdviceFacts> sort_by_length(const AdviceContext& context);

// With a device. The last one applies where there is a device that the loop does not use.
std::optional<AdviceFacts> pinned_copies(const AdviceContext& context);
std::optional<AdviceFacts> blocking_sync(const AdviceContext& context);
std::optional<AdviceFacts> ops_on_cpu(const AdviceContext& context);
std::optional<AdviceFacts> cudnn_benchmark(const AdviceContext& context);
std::optional<AdviceFacts> idle_gpu(const AdviceContext& context);

}  // namespace stepscope
