// What a verdict rests on: figures, each with a query on the store that returns it.
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// The deciding share (or what the samples say of memory), a row for each kind of step that is not
// the usual, and the drift. The queries hold once the analysis is in the store.
std::vector<Evidence> evidence_of(const LoopReport& report, const Bottleneck& bottleneck);

}  // namespace stepscope
