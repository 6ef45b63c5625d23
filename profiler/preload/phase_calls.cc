#include "profiler/preload/phase_calls.h"

#include <unwind.h>

#include "profiler/session/current_thread.h"
#include "profiler/session/session.h"

namespace stepscope {
namespace {

thread_local bool changing_mode = false;

}  // namespace

void begin_call_phase(PhaseKind kind, std::string_view name) noexcept {
  Session& session = Session::get();
  session.torch_is_loaded(false);  // the first sign of a libtorch that was loaded late
  const OpenPhase phase = session.begin_phase(kind, name);
  if (thread_recorder != nullptr) thread_recorder->call_phases().push(phase);
}

void end_call_phase() noexcept {
  if (thread_recorder == nullptr) return;
  const OpenPhase phase = thread_recorder->call_phases().pop();
  Session::get().end_phase(phase, phase.kind);
}

bool changes_mode() { return changing_mode; }

void set_changes_mode(bool changes) { changing_mode = changes; }

}  // namespace stepscope

#define STEPSCOPE_DEFINE_PERSONALITY(routine, cleanup)                          \
  extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code routine( \
      int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception*, \
      _Unwind_Context*) noexcept {                                              \
    if ((actions & _UA_CLEANUP_PHASE) != 0) cleanup;                            \
    return _URC_CONTINUE_UNWIND;                                                \
  }

// Called by whatever unwinder the program has, for each frame that names them, innermost first.
STEPSCOPE_DEFINE_PERSONALITY(stepscope_phase_personality, stepscope::end_call_phase())
STEPSCOPE_DEFINE_PERSONALITY(stepscope_mode_personality, stepscope::set_changes_mode(false))
