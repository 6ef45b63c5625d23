#include "viewer-export/stack_tracks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "viewer-export/json_text.h"

namespace stepscope {

void StackTracks::add_tracks(const std::vector<StoredWatchedThread>& threads,
                             const StackSpans& spans) {
  const auto samples_of = [&](const StoredWatchedThread* thread) {
    return spans.samples().at(thread->id);
  };
  std::vector<const StoredWatchedThread*> drawn;
  for (const StoredWatchedThread& thread : threads) {
    if (spans.samples().contains(thread.id)) drawn.push_back(&thread);
  }
  if (drawn.size() > kMaxTracks) {
    std::ranges::stable_sort(drawn, std::ranges::greater{}, samples_of);
    for (std::size_t i = kMaxTracks; i < drawn.size(); ++i) skipped_ += samples_of(drawn[i]);
    drawn.resize(kMaxTracks);
    std::ranges::sort(drawn, {}, &StoredWatchedThread::id);
  }
  for (const StoredWatchedThread* thread : drawn) {
    const std::string title = "lines · " + thread_title(*thread);
    threads_[thread->id].track = tracks_.add_track(tracks_.pid_of(thread->process), title);
  }
}

void StackTracks::emit(const Slice& slice, const Track& track, const StackFrames& frames) {
  std::string args = "{\"samples\":" + std::to_string(slice.samples);
  if (slice.blocked > 0) args += ",\"samples blocked\":" + std::to_string(slice.blocked);
  writer_.slice("line", json_escaped(frames.name(slice.frame)), slice.range, track, args + "}");
}

// Closes the open slices below the first `depth`.
void StackTracks::close_to(ThreadState& state, std::size_t depth, const StackFrames& frames) {
  while (state.open.size() > depth) {
    Open closed = std::move(state.open.back());
    state.open.pop_back();
    const bool waits =
        !state.open.empty() && state.open.back().slice.range.start == closed.slice.range.start;
    if (waits) {
      std::vector<Slice>& held = state.open.back().held;
      held = std::move(closed.held);
      held.insert(held.begin(), closed.slice);
      continue;
    }
    emit(closed.slice, state.track, frames);
    for (const Slice& slice : closed.held) emit(slice, state.track, frames);
  }
}

void StackTracks::add(ThreadState& state, const StackSpan& span, const StackFrames& frames) {
  frames.path_to(frames.shown(span.frame), path_);
  std::vector<Open>& open = state.open;
  // The time since the last sample is unknown.
  if (!open.empty() && open.front().slice.range.end < span.range.start) close_to(state, 0, frames);
  std::size_t same = 0;
  while (same < open.size() && same < path_.size() && open[same].slice.frame == path_[same]) ++same;
  close_to(state, same, frames);
  for (std::size_t depth = same; depth < path_.size(); ++depth) {
    open.push_back({{path_[depth], {span.range.start, span.range.start}}, {}});
  }
  for (Open& around : open) {
    around.slice.range.end = span.range.end;
    ++around.slice.samples;
    around.slice.blocked += span.blocked ? 1 : 0;
  }
}

Status StackTracks::write() {
  const auto spans = StackSpans::read(reader_, cut_, kMaxSamples);
  if (!spans.ok()) return spans.status();
  every_ = spans->every();
  skipped_ = spans->skipped();
  if (spans->total() == 0) return {};
  const auto frames = StackFrames::read(reader_);
  if (!frames.ok()) return frames.status();
  const auto threads = reader_.watched_threads();
  if (!threads.ok()) return threads.status();
  add_tracks(*threads, *spans);
  const Status status = spans->for_each([&](const StackSpan& span) {
    const auto known = threads_.find(span.thread);
    if (known != threads_.end() && writer_.status().ok()) add(known->second, span, *frames);
  });
  for (auto& [thread, state] : threads_) close_to(state, 0, *frames);
  return status;
}

}  // namespace stepscope
