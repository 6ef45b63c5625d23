// Marks the symbols that libstepscope exports for its hook libraries, not for users.
#pragma once

// The recorder's library contains its own copy of the clock and the rings, and exports neither.
#ifdef STEPSCOPE_RECORDER_LIBRARY
#define STEPSCOPE_INTERNAL
#else
#define STEPSCOPE_INTERNAL __attribute__((visibility("default")))
#endif

// For the few functions on the hot path of the profiled program: a call through the PLT would be a
// fifth of their cost.
#define STEPSCOPE_HOT_INLINE [[gnu::always_inline]] inline

// For the functions that marks call, once or a few times per step. The compiler puts them next to
// one another: after a step, each page of code is a miss in the TLB, and each line one in the
// caches.
#define STEPSCOPE_HOT [[gnu::hot]]
