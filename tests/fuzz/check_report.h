// What every report promises.
#pragma once

#include "analyzer/report.h"
#include "store/trace_reader.h"

namespace stepscope::fuzz {

// Ends the program with a message unless the exposed times of each step add up to it, the text and
// the JSON document can be made, and the page's data is JSON.
void check_report(const TraceReader& reader, const AnalysisReport& report);

}  // namespace stepscope::fuzz
