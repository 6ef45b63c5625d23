// The data of the page Code: samples of call stacks, and the source beside them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "store/analysis.h"
#include "store/trace_reader.h"
#include "viewer-export/report/report_loops.h"
#include "viewer-export/report/report_names.h"

namespace stepscope {

// null without samples; else, with texts as numbers of `names`:
//
//   samples   all of the recording
//   threads   [{"process", "pid", "tid", "name", "loop": whether a loop runs on it, "samples"}]
//   frames    columns "caller" (its index, which is lower; -1: none), "function", "file", "line"
//             (0: unknown). With file -1 it is the system call that its caller was blocked in.
//   groups    [{"thread": its index, "moment": moment_name(), "blocked", "frame": [index],
//             "samples": [number of those with that innermost frame]}]
//   left_out  {"threads", "frames", "least": the share below which a frame counts for its caller}
//   sources   source_excerpts()
//   folder    that the program ran in; "" is unknown
//
// `phases`: as TraceReader::phases() gives them. Errors: those of reading.
Result<nlohmann::ordered_json> code_samples_json(const TraceReader& reader,
                                                 const Analysis& analysis,
                                                 const std::vector<ReportLoop>& loops,
                                                 const std::vector<Phase>& phases,
                                                 ReportNames& names);

}  // namespace stepscope
