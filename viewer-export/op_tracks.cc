#include "viewer-export/op_tracks.h"

#include <algorithm>

namespace stepscope {

OpTracks::OpTracks(const TraceReader& reader, TrackMap& tracks, EventWriter& writer)
    : tracks_(tracks), writer_(writer) {
  for (const StoredThread& thread : reader.threads()) {
    const Track* const track = tracks.thread(thread.id);
    if (track == nullptr) continue;
    ThreadState& state = threads_[thread.id];
    state.track = track;
    state.process = thread.process;
    state.torch_id = thread.torch_id;
  }
}

OpTracks::ThreadState* OpTracks::state_of(const Op& op) {
  if (last_ != nullptr && last_thread_ == op.thread) return last_;
  const auto known = threads_.find(op.thread);
  last_ = known != threads_.end() ? &known->second : nullptr;
  last_thread_ = op.thread;
  return last_;
}

void OpTracks::add(const Op& op) {
  ThreadState* const state = state_of(op);
  if (state == nullptr || to_ns(op.start) < 0 || op.dur < Duration::zero()) {
    ++skipped_;
    return;
  }
  const SessionTime end = op.start + op.dur;
  const bool nests = state->order.takes(op);
  const auto lane = nests ? std::nullopt : state->lanes.place(op.start, end);
  if (!nests && !lane) {
    ++skipped_;
    return;
  }
  ++drawn_;
  extent_.start = std::min(extent_.start, op.start);
  extent_.end = std::max(extent_.end, end);

  OpSlice slice{op};
  link_to_forward(slice, *state);
  if (lane) {
    write_on_lane(*state, slice, *lane);
    return;
  }
  state->order.add(slice,
                   [this, state](const OpSlice& ready) { writer_.op(ready, *state->track); });
  note_forward(op, *state);
}

// An arrow needs a slice of nonzero length.
void OpTracks::note_forward(const Op& op, const ThreadState& state) {
  if (op.sequence < 0 || op.dur <= Duration::zero()) return;
  if (op.forward_thread != 0 || state.torch_id == 0) return;
  if (!writer_.names().is_engine_frame(op.name))
    forwards_.add_forward(op, FlowTable::origin_of(state.process, state.torch_id));
}

void OpTracks::link_to_forward(OpSlice& slice, const ThreadState& state) {
  if (slice.op.sequence < 0 || slice.op.dur <= Duration::zero()) return;
  if (slice.op.forward_thread == 0) return;
  const auto forward = forwards_.take_forward(
      slice.op, FlowTable::origin_of(state.process, slice.op.forward_thread));
  if (!forward) return;
  slice.flow_in = ++last_flow_;
  ThreadState& from = threads_.at(forward->thread);
  // Written after its slice, as some readers require.
  if (OpSlice* held = from.order.find_held(forward->start, forward->sequence); held != nullptr) {
    held->flow_out = slice.flow_in;
  } else {
    writer_.flow_start(slice.flow_in, forward->start, *from.track);
  }
}

void OpTracks::write_on_lane(ThreadState& state, const OpSlice& slice, std::size_t lane) {
  if (lane == state.lane_tracks.size()) {
    state.lane_tracks.push_back(tracks_.add_lane(slice.op.thread));
  }
  writer_.op(slice, state.lane_tracks[lane]);
}

void OpTracks::finish() {
  for (auto& [thread, state] : threads_) {
    state.order.finish(
        [this, track = state.track](const OpSlice& ready) { writer_.op(ready, *track); });
  }
}

std::optional<TimeRange> OpTracks::extent() const {
  if (drawn_ == 0) return std::nullopt;
  return extent_;
}

}  // namespace stepscope
