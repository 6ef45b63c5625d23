// The evidence of a verdict in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// A sentence without its full stop. `fact` belongs to `loop` and is of any kind but kAdvice.
std::string statement_of(const EvidenceFact& fact, const LoopReport& loop);

// The evidence in the form that the store and the JSON documents have.
Evidence make_evidence(const EvidenceFact& fact, std::string statement);

}  // namespace stepscope
