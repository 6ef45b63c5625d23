// How the layers that see a program from inside mark its phases: the interposed symbols and the
// hook library. Like the C interface, for phases that a user does not mark by hand.
//
// Thread safety: any thread; a phase is ended on the thread that began it. Never throws.
#pragma once

#include <string_view>

#include "profiler/ring/thread_recorder.h"
#include "profiler/visibility.h"

namespace stepscope {

// Nothing is begun (OpenPhase::kind is kNone) when nothing records.
STEPSCOPE_INTERNAL OpenPhase begin_phase_mark(PhaseKind kind, std::string_view name);
STEPSCOPE_INTERNAL void end_phase_mark(const OpenPhase& phase);

}  // namespace stepscope
