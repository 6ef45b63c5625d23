// The names by which a program marks its evaluations and checkpoints.
//
// Thread safety: none needed, free functions on values.
#pragma once

#include <optional>
#include <string_view>

#include "store/analysis.h"

namespace stepscope {

// Names of the instant scopes that mark when a model changed its mode.
inline constexpr std::string_view kEvalMark = "eval()";
inline constexpr std::string_view kTrainMark = "train()";
inline bool is_mode_mark(std::string_view name) { return name == kEvalMark || name == kTrainMark; }

// "evaluation", "validate 3", "Test"; "checkpoint", "torch.save". Nothing for other scopes.
std::optional<SegmentKind> segment_of_scope(std::string_view name);

}  // namespace stepscope
