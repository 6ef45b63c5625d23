// The evidence of a verdict in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// A sentence without its full stop. `fact`: of `loop`, of any kind but kAdvice.
std::string statement_of(const EvidenceFact& fact, const LoopReport& loop);

// As the store and the documents have it.
Evidence told_evidence(const EvidenceFact& fact, std::string statement);

}  // namespace stepscope
