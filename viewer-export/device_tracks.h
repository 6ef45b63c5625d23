// The devices of a run in a trace: a group per device, with a track per stream for its kernels,
// copies and memsets; the API calls of each thread on a track next to it; and arrows from each call
// to what it launched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/cut.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/lanes.h"
#include "viewer-export/track_map.h"

namespace stepscope {

// Thread safety: none. Memory: that of the tracks; the events are read in the order of their
// starts.
class DeviceTracks {
 public:
  // All must outlive this. Adds the groups to `tracks`, which must not have rows yet.
  DeviceTracks(const TraceReader& reader, const Cut& cut, TrackMap& tracks);

  // Call once the threads are numbered.
  Status write(EventWriter& writer);

  [[nodiscard]] std::int64_t activities() const { return activities_; }
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }
  [[nodiscard]] std::optional<TimeRange> extent() const;

 private:
  // A stream runs one activity at a time. Activities that overlap anyway (branches of a CUDA graph)
  // get further tracks: nesting would suggest that one contains the other.
  struct StreamState {
    std::int64_t group = 0;
    std::string title;
    std::string args;                    // members that all its events have
    std::vector<SessionTime> free_from;  // of each track
    std::vector<Track> tracks;
  };
  struct CallState {
    NestedLanes lanes;
    std::vector<Track> tracks;
  };

  // A call that is not on the first track of its thread.
  struct CallKey {
    ThreadId thread = ThreadId::kNone;
    std::int64_t correlation = 0;
    SessionTime start;

    friend auto operator<=>(const CallKey&, const CallKey&) = default;
  };

  void add_streams(const TraceReader& reader, const std::map<DeviceId, std::int64_t>& groups);
  void write_call(const ApiCall& call, EventWriter& writer);
  void write_slice(const DeviceSlice& slice, EventWriter& writer);
  void write_arrow(const DeviceSlice& slice, const Track& track, EventWriter& writer);
  // The track that the call of `slice` is drawn on; null if it is not drawn.
  [[nodiscard]] const Track* track_of_call(const DeviceSlice& slice) const;
  // Null if there are kMaxLanes already.
  const Track* track_for(StreamState& stream, const TimeRange& range);
  void extend(const TimeRange& range);

  const TraceReader& reader_;
  const Cut& cut_;
  TrackMap& tracks_;
  std::unordered_map<StreamId, StreamState> streams_;  // of a known device
  std::unordered_map<ThreadId, CallState> calls_of_;
  // Calls that are not on lane 0, which are few; kMaxLanes: on none.
  std::map<CallKey, std::size_t> other_lanes_;
  std::uint64_t arrows_ = 0;
  std::int64_t activities_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t skipped_ = 0;
  TimeRange extent_{SessionTime::max(), SessionTime::min()};
};

}  // namespace stepscope
