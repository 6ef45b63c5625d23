// The rules, a file each. A rule that does not apply, or would save less than kLeastSaving of the
// step, says nothing. docs/prediction.md tells what each assumes.
#pragma once

#include <optional>

#include "analyzer/advise/context.h"

namespace stepscope {

std::optional<Advice> input_prefetch(const AdviceContext& context);
std::optional<Advice> input_cache(const AdviceContext& context);
std::optional<Advice> fewer_tiny_ops(const AdviceContext& context);
std::optional<Advice> fused_optimizer(const AdviceContext& context);
std::optional<Advice> evaluation_mode(const AdviceContext& context);  // inference only
std::optional<Advice> periodic_stall(const AdviceContext& context);
std::optional<Advice> pinned_copies(const AdviceContext& context);  // needs a device
std::optional<Advice> blocking_sync(const AdviceContext& context);  // needs a device

}  // namespace stepscope
