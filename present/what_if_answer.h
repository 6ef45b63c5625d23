// Asks a recording a question, or says why it has no answer.
#pragma once

#include <string>

#include "analyzer/what_if.h"

namespace stepscope {

// Errors: those of analyze() and answer_what_if(); a run without steps, and one whose steps cannot
// be replayed (kBadInput), which a line does not need.
Result<WhatIfAnswer> what_if(const RecordedRun& recording, const WhatIfQuestion& question);
Result<WhatIfAnswer> what_if(const TraceReader& reader, const WhatIfQuestion& question);

// A sentence.
std::string what_if_note_text(const WhatIfNote& note);

}  // namespace stepscope
