// Writes the ops of a store, thread by thread, to a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/flow_table.h"
#include "viewer-export/lanes.h"
#include "viewer-export/slice_order.h"
#include "viewer-export/track_map.h"

namespace stepscope {

// Thread safety: none. Memory: that of a SliceOrder per thread, and of one FlowTable.
class OpTracks {
 public:
  // All must outlive this.
  OpTracks(const TraceReader& reader, TrackMap& tracks, EventWriter& writer);

  // Adds an op. The ops must come in the order in which a store yields them.
  void add(const Op& op);
  // Writes the ops still held back.
  void finish();

  [[nodiscard]] std::int64_t drawn() const { return drawn_; }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }
  // From the first start to the last end of the ops drawn; nothing if there were none.
  [[nodiscard]] std::optional<TimeRange> extent() const;

 private:
  struct ThreadState {
    const Track* track = nullptr;
    ProcessId process = ProcessId::kNone;
    std::uint32_t torch_id = 0;
    SliceOrder order;
    FlatLanes lanes;
    std::vector<Track> lane_tracks;
  };

  ThreadState* state_of(const Op& op);
  void link_to_forward(OpSlice& slice, const ThreadState& state);
  void note_forward(const Op& op, const ThreadState& state);
  void write_on_lane(ThreadState& state, const OpSlice& slice, std::size_t lane);

  TrackMap& tracks_;
  EventWriter& writer_;
  std::unordered_map<ThreadId, ThreadState> threads_;  // known ones
  ThreadState* last_ = nullptr;  // of the last op: the next is often of the same thread
  ThreadId last_thread_ = ThreadId::kNone;
  FlowTable forwards_;
  std::uint64_t last_flow_ = 0;
  std::int64_t drawn_ = 0;
  std::int64_t skipped_ = 0;
  TimeRange extent_{SessionTime::max(), SessionTime::min()};
};

}  // namespace stepscope
