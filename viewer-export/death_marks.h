// Shows in a trace how processes ended: a mark where one died or became another program, and the
// ops that it was in, drawn up to its end.
#pragma once

#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/cut.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/track_map.h"

namespace stepscope {

// Call before the ops are written: of two that begin together, the unfinished one is the outer one.
// `ops` as TraceReader::unfinished_ops() returns them. Returns how many could not be drawn.
std::int64_t write_unfinished_ops(const TraceReader& reader, const std::vector<UnfinishedOp>& ops,
                                  const std::vector<ProcessEnd>& ends, const Cut& cut,
                                  const TrackMap& tracks, EventWriter& writer);

void write_deaths(const std::vector<ProcessEnd>& ends, const Cut& cut, const TrackMap& tracks,
                  EventWriter& writer);

}  // namespace stepscope
