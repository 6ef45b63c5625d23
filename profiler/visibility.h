// Symbols that libstepscope exports for its own companions (the hook libraries), not for users.
#pragma once

#define STEPSCOPE_INTERNAL __attribute__((visibility("default")))

// For the few functions between two instructions of the profiled program: a call through the PLT would
// be a fifth of their cost.
#define STEPSCOPE_HOT_INLINE [[gnu::always_inline]] inline
