// How long a loop waited for its batches, loader by loader.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "store/events.h"
#include "store/trace_reader.h"
#include "viewer-export/report/report_loops.h"

namespace stepscope {

// A row for each loader that the loop waited for in its analysed steps: how often, how long, how
// busy, a histogram (`bins` of a quarter of an octave: from 2^(i/4) ns on), and the longest waits
// with their steps. Empty if no wait was recorded.
nlohmann::ordered_json input_waits_json(const TraceReader& reader, const ReportLoop& loop,
                                        const std::vector<Phase>& phases);

}  // namespace stepscope
