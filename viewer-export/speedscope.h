// Exports the stack samples of a store as a file of https://www.speedscope.app: a profile for each
// thread, in which the weight of each sample is the time that it stands for.
// Format: https://www.speedscope.app/file-format-schema.json
//
// Memory: the frames of the store, and 16 bytes for each of at most StackSpans::kMaxSpans samples.
#pragma once

#include "store/trace_reader.h"
#include "viewer-export/byte_sink.h"
#include "viewer-export/cut.h"
#include "viewer-export/stacks_summary.h"

namespace stepscope {

// Unknown time is an empty stack, so that a profile follows the clock. Finishes `sink`. Errors:
// kBadInput (no stack samples), those of reading and of `sink`.
Result<StacksSummary> write_speedscope(const TraceReader& reader, const Cut& cut, ByteSink& sink);

}  // namespace stepscope
