// The counters of a run over time, and its processes and devices.
#pragma once

#include <nlohmann/json.hpp>

#include "store/analysis.h"
#include "store/status.h"
#include "store/trace_reader.h"
#include "viewer-export/report/report_loops.h"

namespace stepscope {

// {"series": the gauges of memory, at most kReportPoints points each, the extremes kept;
//  "tensors": what held the memory of tensors (TensorOwners::json());
//  "processes": what they were and what they used}.
Result<nlohmann::ordered_json> run_series_json(const TraceReader& reader);

// The devices of a process, and how busy each was with kernels while its loops ran.
nlohmann::ordered_json devices_json(const TraceReader& reader, const Analysis& analysis);

}  // namespace stepscope
