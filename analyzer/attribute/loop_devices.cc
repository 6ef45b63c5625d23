#include "analyzer/attribute/loop_devices.h"

#include <algorithm>

#include "analyzer/attribute/cursor.h"

namespace stepscope {
namespace {

// Counts as hidden what the loop thread was in while the segments attribute the time to something
// else, which it is hidden behind.
void hide_loop_time(std::span<const DeviceSegment> segments, std::span<const HostState> loop,
                    StepAccount& account) {
  Cursor<HostState> states(loop);
  for (const DeviceSegment& segment : segments) {
    for (SessionTime now = segment.range.start; now < segment.range.end;) {
      SessionTime next = segment.range.end;
      const HostState* const state = states.at(now, next);
      if (state != nullptr &&
          (state->category != segment.category || state->label != segment.label)) {
        account.hide(state->category, state->phase, state->label, next - now);
      }
      now = next;
    }
  }
}

void add_up(std::span<const DeviceSegment> segments, StepAccount& account) {
  for (const DeviceSegment& segment : segments) {
    const Duration length = segment.range.length();
    account.add({segment.range, segment.category, segment.phase, segment.label, StringId::kNone});
    if (segment.hidden_communication) {
      account.hide(Category::kCommunication, *segment.hidden_communication, StringId::kNone,
                   length);
    }
    if (segment.hidden_copy)
      account.hide(Category::kCopy, *segment.hidden_copy, StringId::kNone, length);
  }
}

// A kernel counts wholly in the step in which it began.
void count_kernels(std::span<const DeviceActivity> begun, const HostView& host, TableNames& names,
                   KernelTable* kernels, OpSeries* series) {
  if (kernels == nullptr && series == nullptr) return;
  for (const DeviceActivity& activity : begun) {
    if (activity.name == StringId::kNone) continue;
    const PhaseKind phase = host.phase_of(activity.call);
    const Duration dur = activity.end - activity.start;
    const StringId name = names.row_name(activity.name);
    if (kernels != nullptr) kernels->add(name, phase, dur);
    if (series != nullptr) series->add_whole(name, phase, dur);
  }
}

}  // namespace

LoopDevices::LoopDevices(const DeviceWork& work, ThreadId loop_thread,
                         const std::set<ThreadId>& threads, std::vector<DeviceId> devices)
    : work_(work), loop_thread_(loop_thread), devices_(std::move(devices)) {
  if (devices_.empty()) return;
  for (const DeviceId device : devices_) cursors_.emplace_back(work.activities_of(device));
  for (const ThreadId thread : threads) {
    const auto calls = work.calls_of(thread);
    if (calls.empty() && thread != loop_thread) continue;
    windows_.emplace(thread, CallWindow(calls));
    if (thread != loop_thread) launchers_.insert(thread);
  }
  phases_.resize(work.call_count(), PhaseKind::kNone);
}

std::span<const HostCall> LoopDevices::CallWindow::advance(TimeRange frame) {
  while (first_ < calls_.size() && calls_[first_].end <= frame.start) ++first_;
  const auto rest = calls_.subspan(first_);
  const auto last = std::partition_point(
      rest.begin(), rest.end(), [&](const HostCall& call) { return call.start < frame.end; });
  return rest.first(static_cast<std::size_t>(last - rest.begin()));
}

// Work belongs to the phase in which it was launched, however much later it runs.
void LoopDevices::note_phases(std::span<const HostCall> calls, TimeRange frame) {
  Cursor<HostState> states{std::span<const HostState>(loop_states_)};
  for (const HostCall& call : calls) {
    if (call.start < frame.start) continue;
    SessionTime next = frame.end;
    const HostState* const state = states.at(call.start, next);
    if (state != nullptr) phases_[work_.index_of(call)] = state->phase;
  }
}

std::span<const HostState> LoopDevices::states_of(ThreadId thread) {
  if (!launchers_.contains(thread)) return loop_states_;
  const auto [it, added] = thread_states_.try_emplace(thread);
  if (!added) return it->second;
  const TimeRange frame{loop_states_.front().range.start, loop_states_.back().range.end};
  const auto ops = ops_->find(thread);
  const auto runs =
      ops == ops_->end() ? std::vector<OpRun>() : flatten_ops(ops->second, frame, Duration(0));
  it->second = thread_states(loop_states_, runs, calls_[thread]);
  return it->second;
}

void LoopDevices::sweep(TimeRange frame, std::span<const Segment> segments, const OpsByThread& ops,
                        std::vector<StepAccount>& accounts, std::vector<KernelTable>* kernels,
                        std::vector<OpSeries>* series) {
  if (devices_.empty() || segments.empty()) return;
  ops_ = &ops;
  thread_states_.clear();
  for (auto& [thread, window] : windows_) calls_[thread] = window.advance(frame);
  loop_states_ = loop_states(segments, calls_[loop_thread_]);
  for (const auto& [thread, calls] : calls_) note_phases(calls, frame);

  const HostView host{
      work_, [this](ThreadId thread) { return states_of(thread); },
      [this](std::uint32_t call) { return call == kNoCall ? PhaseKind::kNone : phases_[call]; }};
  accounts.resize(devices_.size());
  if (kernels != nullptr) kernels->resize(devices_.size());
  if (series != nullptr) series->resize(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const DeviceRuns runs = cursors_[i].advance(frame);
    const auto swept = sweep_device(frame, runs, cursors_[i].next(), host);
    add_up(swept, accounts[i]);
    count_kernels(runs.begun, host, kernel_names_, kernels != nullptr ? &(*kernels)[i] : nullptr,
                  series != nullptr ? &(*series)[i] : nullptr);
    hide_loop_time(swept, loop_states_, accounts[i]);
  }
}

}  // namespace stepscope
