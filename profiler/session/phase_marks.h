// Lets the interposed symbols and the hook library mark phases of the program. Like the C
// interface, for phases that the user does not mark by hand.
//
// Thread safety: any thread; a phase is ended on the thread that began it. Never throws.
#pragma once

#include <string_view>

#include "profiler/ring/thread_recorder.h"
#include "profiler/visibility.h"

namespace stepscope {

// Begins nothing (OpenPhase::kind is kNone) without a recording.
STEPSCOPE_INTERNAL OpenPhase begin_phase_mark(PhaseKind kind, std::string_view name);
STEPSCOPE_INTERNAL void end_phase_mark(const OpenPhase& phase);

}  // namespace stepscope
