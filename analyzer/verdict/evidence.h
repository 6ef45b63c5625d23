// The evidence of a verdict: figures, each with a store query that returns it.
#pragma once

#include <vector>

#include "analyzer/report.h"

namespace stepscope {

// The deciding share (or what the counters say about memory), a row for each kind of step except
// the usual one, and the drift. The queries work once the analysis is in the store.
std::vector<EvidenceFact> evidence_of(const LoopReport& report, const Bottleneck& bottleneck);

}  // namespace stepscope
