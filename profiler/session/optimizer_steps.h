// The steps of optimizers that a language binding reports, each by its optimizer instead of by an
// open phase, so that the binding need not keep what is open.
//
// Thread safety: any thread; a step must be ended on the thread that began it. Never throws.
#pragma once

#include <string_view>

#include "profiler/visibility.h"

namespace stepscope {

// `optimizer` tells apart those whose steps are open; it is only compared. If its last step on this
// thread raised, nothing has ended that step: it ends now, as a scope.
STEPSCOPE_HOT void begin_optimizer_step(const void* optimizer, std::string_view name) noexcept;

// Ends the step that this optimizer began, and those that began inside it and raised. Does nothing
// if none is open.
STEPSCOPE_HOT void end_optimizer_step(const void* optimizer) noexcept;

}  // namespace stepscope
