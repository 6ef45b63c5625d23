// Calls of libtorch and of the program within a phase, which ends even if an exception, or the end
// of the thread (pthread_exit(), pthread_cancel()), unwinds them.
//
// A destructor would not do. It makes the compiler add a landing pad to the calling function, and
// the program's unwinder would enter that pad through the personality routine of the C++ runtime
// inside this library, which works only with the unwinder inside this library: the process aborts.
// So no function of ours that calls the program has a landing pad. Instead, the frame of such a
// call names a personality routine of our own (Itanium C++ ABI: Exception Handling, section 2.5),
// which does what is to be done and lets the unwinding go on. It calls no unwinder, so it works
// with all of them.
#pragma once

#include <string_view>
#include <type_traits>

#include "profiler/ring/thread_recorder.h"
#include "profiler/visibility.h"

namespace stepscope {

// For the frame of the function that it is in, which must not be inlined and must not need a
// landing pad. (0x1b: relative, in four bytes.)
#define STEPSCOPE_PERSONALITY(routine) asm volatile(".cfi_personality 0x1b, " #routine)

STEPSCOPE_HOT STEPSCOPE_INTERNAL void begin_call_phase(PhaseKind kind,
                                                       std::string_view name) noexcept;
STEPSCOPE_HOT STEPSCOPE_INTERNAL void end_call_phase() noexcept;

// Records the phase `kind` for as long as `call` takes. The result is that of `call`, constructed
// in place.
template <typename Call>
  requires std::is_void_v<std::invoke_result_t<Call>>
STEPSCOPE_HOT [[gnu::noinline]] void in_phase(PhaseKind kind, std::string_view name,
                                              const Call& call) {
  STEPSCOPE_PERSONALITY(stepscope_phase_personality);
  begin_call_phase(kind, name);
  call();
  end_call_phase();
}

template <typename Call>
STEPSCOPE_HOT [[gnu::noinline]] std::invoke_result_t<Call> in_phase(PhaseKind kind,
                                                                    std::string_view name,
                                                                    const Call& call) {
  STEPSCOPE_PERSONALITY(stepscope_phase_personality);
  begin_call_phase(kind, name);
  std::invoke_result_t<Call> result = call();
  end_call_phase();
  return result;
}

// Whether the thread is within change_mode().
[[nodiscard]] STEPSCOPE_INTERNAL bool changes_mode();
STEPSCOPE_INTERNAL void set_changes_mode(bool changes);

template <typename Call>
[[gnu::noinline]] void change_mode(const Call& call) {
  STEPSCOPE_PERSONALITY(stepscope_mode_personality);
  set_changes_mode(true);
  call();
  set_changes_mode(false);
}

}  // namespace stepscope
