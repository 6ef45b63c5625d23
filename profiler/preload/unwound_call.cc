#include "profiler/preload/unwound_call.h"

#include <unwind.h>

#include <array>

#include "profiler/session/session.h"

namespace stepscope {
namespace {

// Deeper calls are made, but nothing is done after them. They are rare: a closure within an
// optimizer step, a backward pass within a backward pass.
constexpr std::size_t kMaxDepth = 32;

struct Calls {
  std::array<AfterCall, kMaxDepth> after;
  std::size_t depth = 0;
};
constinit thread_local Calls calls;

}  // namespace

void begin_unwound_call(const AfterCall& after) noexcept {
  if (calls.depth < kMaxDepth) calls.after[calls.depth] = after;
  ++calls.depth;
}

void end_unwound_call() noexcept {
  --calls.depth;
  if (calls.depth >= kMaxDepth) return;
  const AfterCall& after = calls.after[calls.depth];
  if (after.cleared != nullptr) *after.cleared = false;
  Session::get().end_phase(after.phase, after.phase.kind);
}

}  // namespace stepscope

// Called by whatever unwinder the program has, for each frame of call_and_do(), innermost first.
extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code
stepscope_personality(int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception*,
                      _Unwind_Context*) noexcept {
  if ((actions & _UA_CLEANUP_PHASE) != 0) stepscope::end_unwound_call();
  return _URC_CONTINUE_UNWIND;
}
