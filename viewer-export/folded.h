// Exports the stack samples of a store as folded stacks, the text that flamegraph.pl and speedscope
// read: "python 123;main (train.py:12);decode (data.py:41) 57".
//
// Memory: the frames of the store, and a number for each different stack of a thread.
#pragma once

#include "store/trace_reader.h"
#include "viewer-export/byte_sink.h"
#include "viewer-export/cut.h"
#include "viewer-export/stacks_summary.h"

namespace stepscope {

// One line for each stack of each thread, in the order of the store; the number counts samples.
// Finishes `sink`. Errors: kBadInput (no stack samples), those of reading and of `sink`.
Result<StacksSummary> write_folded(const TraceReader& reader, const Cut& cut, ByteSink& sink);

}  // namespace stepscope
