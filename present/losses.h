// Describes what a run lost: the one place that gives kinds of loss (docs/schema.md,
// docs/import.md) a readable name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/events.h"

namespace stepscope {

// "1 op", "47,649 events that could not be written"; for a kind that this version does not know:
// "3 events of kind \"new_kind\"".
std::string loss_text(std::string_view kind, std::int64_t count);

// "nothing lost", or "lost: 7 ops, 1 phase": all threads together, the kinds in their order.
// `incomplete`: the recording ended before the program, so uncounted events may be missing.
std::string losses_text(const std::vector<Loss>& losses, bool incomplete);

}  // namespace stepscope
