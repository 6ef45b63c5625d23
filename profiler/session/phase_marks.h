// Lets the interposed symbols and the hook library mark phases that the user does not mark by hand.
// Works like the C interface.
//
// Thread safety: any thread; a phase must be ended on the thread that began it. Never throws.
#pragma once

#include <string_view>

#include "profiler/ring/thread_recorder.h"
#include "profiler/visibility.h"

namespace stepscope {

// Begins nothing (OpenPhase::kind is kNone) if nothing is recorded.
STEPSCOPE_INTERNAL OpenPhase begin_phase_mark(PhaseKind kind, std::string_view name);
STEPSCOPE_INTERNAL void end_phase_mark(const OpenPhase& phase);

// Whether the Python package marks the phases that PyTorch opens ranges around.
STEPSCOPE_INTERNAL bool python_ranges_are_marked();

}  // namespace stepscope
