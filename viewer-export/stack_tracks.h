// The stack samples of a run in a trace: a track for each thread, on which each frame is a slice
// for as long as consecutive samples contain it. Perfetto does not read the sample events of the
// Chrome format ("ph":"P", "stackFrames").
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/cut.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/stack_frames.h"
#include "viewer-export/stack_spans.h"
#include "viewer-export/track_map.h"

namespace stepscope {

// Thread safety: none. Memory: the frames of the store, and the open slices of each thread.
class StackTracks {
 public:
  // If there are more threads, those with the most samples are drawn.
  static constexpr std::size_t kMaxTracks = 128;

  // A sample takes about three slices. With more samples, every second, third, … is used.
  static constexpr std::int64_t kMaxSamples = 250'000;

  // All must outlive this.
  StackTracks(const TraceReader& reader, const Cut& cut, TrackMap& tracks, EventWriter& writer)
      : reader_(reader), cut_(cut), tracks_(tracks), writer_(writer) {}

  // Reads and draws the samples. Call once the threads are numbered.
  Status write();

  // 2: only every second sample was used.
  [[nodiscard]] std::int64_t every() const { return every_; }
  // Samples of threads without a track, and those that are out of order or have a negative time.
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

 private:
  struct Slice {
    FrameId frame = FrameId::kNone;
    TimeRange range;  // of an open one, the end of its latest sample
    std::int64_t samples = 0;
    std::int64_t blocked = 0;
  };
  struct Open {
    Slice slice;
    // Closed slices inside it that begin at the same time. Among equal starts, a parent must come
    // first, so they wait for it.
    std::vector<Slice> held;
  };
  struct ThreadState {
    Track track;
    std::vector<Open> open;  // outermost first
  };

  void add_tracks(const std::vector<StoredWatchedThread>& threads, const StackSpans& spans);
  void add(ThreadState& state, const StackSpan& span, const StackFrames& frames);
  void close_to(ThreadState& state, std::size_t depth, const StackFrames& frames);
  void emit(const Slice& slice, const Track& track, const StackFrames& frames);

  const TraceReader& reader_;
  const Cut& cut_;
  TrackMap& tracks_;
  EventWriter& writer_;
  std::map<WatchedThreadId, ThreadState> threads_;
  std::vector<FrameId> path_;
  std::int64_t every_ = 1;
  std::int64_t skipped_ = 0;
};

}  // namespace stepscope
