// Answers a what-if question from a recording, or says why it cannot.
#pragma once

#include <string>

#include "analyzer/what_if.h"

namespace stepscope {

// Errors: those of analyze() and answer_what_if(). kBadInput if the run has no steps, or if they
// cannot be replayed; a question about a line needs no replay.
Result<WhatIfAnswer> what_if(const RecordedRun& recording, const WhatIfQuestion& question);
Result<WhatIfAnswer> what_if(const TraceReader& reader, const WhatIfQuestion& question);

// A sentence.
std::string what_if_note_text(const WhatIfNote& note);

}  // namespace stepscope
