// Calls of libtorch and of the program that something must be done after, even if an exception, or
// the end of the thread (pthread_exit(), pthread_cancel()), unwinds them.
//
// A destructor would not do. It makes the compiler add a landing pad to the calling function, and
// the program's unwinder would enter that pad through the personality routine of the C++ runtime
// inside this library, which works only with the unwinder inside this library: the process aborts.
// So no function of ours that calls the program has a landing pad. Instead, the frame of such a
// call names a personality routine of our own (Itanium C++ ABI: Exception Handling, section 2.5),
// which does what is to be done and lets the unwinding go on. It calls no unwinder, so it works
// with all of them.
#pragma once

#include <type_traits>

#include "profiler/ring/thread_recorder.h"
#include "profiler/visibility.h"

namespace stepscope {

// What to do after a call.
struct AfterCall {
  OpenPhase phase;          // ends; kind kNone: nothing
  bool* cleared = nullptr;  // is set to false; nullptr: nothing
};

// Calls nest, so the thread has a stack of what is to be done. Both functions never throw.
STEPSCOPE_INTERNAL void begin_unwound_call(const AfterCall& after) noexcept;
STEPSCOPE_INTERNAL void end_unwound_call() noexcept;

// The directive is for the frame of one function, which must not be inlined and must not need a
// landing pad. (0x1b: relative, in four bytes.)
#define STEPSCOPE_OWN_PERSONALITY asm volatile(".cfi_personality 0x1b, stepscope_personality")

template <typename Call>
  requires std::is_void_v<std::invoke_result_t<Call>>
[[gnu::noinline]] void call_and_do(const AfterCall& after, const Call& call) {
  STEPSCOPE_OWN_PERSONALITY;
  begin_unwound_call(after);
  call();
  end_unwound_call();
}

// The result is that of `call`, constructed in place.
template <typename Call>
[[gnu::noinline]] std::invoke_result_t<Call> call_and_do(const AfterCall& after, const Call& call) {
  STEPSCOPE_OWN_PERSONALITY;
  begin_unwound_call(after);
  std::invoke_result_t<Call> result = call();
  end_unwound_call();
  return result;
}

}  // namespace stepscope
