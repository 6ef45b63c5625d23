#include "viewer-export/op_tracks.h"

#include <algorithm>

namespace stepscope {

OpTracks::OpTracks(const TraceReader& reader, TrackMap& tracks, EventWriter& writer)
    : tracks_(tracks), writer_(writer), threads_(tracks.threads().size()) {
  for (const StoredThread& thread : reader.threads()) {
    ThreadState& state = threads_[static_cast<std::size_t>(thread.id)];
    state.track = tracks.thread(thread.id);
    state.process = thread.process;
    state.torch_id = thread.torch_id;
  }
}

OpTracks::ThreadState* OpTracks::state_of(const Op& op) {
  const auto at = static_cast<std::size_t>(op.thread);
  return at < threads_.size() && threads_[at].track != nullptr ? &threads_[at] : nullptr;
}

void OpTracks::add(const Op& op) {
  ThreadState* const state = state_of(op);
  if (state == nullptr || to_ns(op.start) < 0 || op.dur < Duration::zero()) {
    ++skipped_;
    return;
  }
  ++drawn_;
  extent_.start = std::min(extent_.start, op.start);
  extent_.end = std::max(extent_.end, op.start + op.dur);

  OpSlice slice{op};
  // An arrow needs a slice with a length to hold on to.
  const bool may_link = op.sequence >= 0 && op.dur > Duration::zero();
  if (may_link && op.forward_thread != 0) link_to_forward(slice, *state);
  const auto emit = [this, state](const OpSlice& ready) { writer_.op(ready, *state->track); };
  if (!state->order.add(slice, emit)) {
    add_to_lane(*state, slice);
    return;
  }
  const bool forward = may_link && op.forward_thread == 0 && state->torch_id != 0;
  if (forward && !writer_.names().is_engine_frame(op.name)) {
    forwards_.add_forward(op, FlowTable::origin_of(state->process, state->torch_id));
  }
}

void OpTracks::link_to_forward(OpSlice& slice, const ThreadState& state) {
  const auto forward = forwards_.take_forward(
      slice.op, FlowTable::origin_of(state.process, slice.op.forward_thread));
  if (!forward) return;
  slice.flow_in = ++last_flow_;
  ThreadState& from = threads_[static_cast<std::size_t>(forward->thread)];
  // Written after its slice, as some readers need.
  if (OpSlice* held = from.order.find_held(forward->start, forward->sequence); held != nullptr) {
    held->flow_out = slice.flow_in;
  } else {
    writer_.flow_start(slice.flow_in, forward->start, *from.track);
  }
}

void OpTracks::add_to_lane(ThreadState& state, const OpSlice& slice) {
  const std::size_t lane = state.lanes.place(slice.op.start, slice.op.start + slice.op.dur);
  if (lane == state.lane_tracks.size()) {
    state.lane_tracks.push_back(tracks_.add_lane(slice.op.thread));
  }
  writer_.op(slice, state.lane_tracks[lane]);
}

void OpTracks::finish() {
  for (ThreadState& state : threads_) {
    if (state.track == nullptr) continue;
    state.order.finish([this, &state](const OpSlice& ready) { writer_.op(ready, *state.track); });
  }
}

std::optional<TimeRange> OpTracks::extent() const {
  if (drawn_ == 0) return std::nullopt;
  return extent_;
}

}  // namespace stepscope
