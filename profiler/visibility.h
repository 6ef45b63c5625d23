// Symbols that libstepscope exports for its own companions (the hook libraries), not for users.
#pragma once

// The recorder's library has the clock and the rings as well, for itself.
#ifdef STEPSCOPE_RECORDER_LIBRARY
#define STEPSCOPE_INTERNAL
#else
#define STEPSCOPE_INTERNAL __attribute__((visibility("default")))
#endif

// For the few functions between two instructions of the profiled program: a call through the PLT
// would be a fifth of their cost.
#define STEPSCOPE_HOT_INLINE [[gnu::always_inline]] inline
