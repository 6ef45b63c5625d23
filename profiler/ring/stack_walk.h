// The call stack of the calling thread, in native code, by the unwind tables (.eh_frame) that every
// compiler writes for C++.
#pragma once

#include <cstdint>
#include <span>

#include "profiler/visibility.h"

namespace stepscope {

// Fills `addresses` with the frames of the calling thread, the innermost first, and returns how
// many: at most as many as fit. Each is an address inside the instruction that the frame is in: of
// a caller, the call. The first frames may be Stepscope's own.
//
// Does not allocate or throw; takes no lock where the C library finds unwind tables without one
// (glibc from 2.35 on). Some 0.13 µs a frame (bench/lines/stack_cost.cc).
STEPSCOPE_INTERNAL std::uint32_t walk_stack(std::span<std::uint64_t> addresses) noexcept;

}  // namespace stepscope
