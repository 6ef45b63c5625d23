// Bytes → a recording that a store may hold: threads with ops that nest, and ops, calls, kernels
// and phases that do not; correlations that collide; ends, losses and readings.
#pragma once

#include <cstdint>
#include <span>

#include "store/trace_writer.h"

namespace stepscope::fuzz {

// Writes it into an empty store. Its ids are those of an empty store, its times within a year of
// the start, and negative ones among them.
void write_recording(std::span<const std::uint8_t> bytes, TraceWriter& writer);

}  // namespace stepscope::fuzz
