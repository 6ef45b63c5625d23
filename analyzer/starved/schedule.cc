#include "analyzer/starved/schedule.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// The stretches of a thread follow one another. In a damaged store they may overlap, and would be
// counted repeatedly.
void put_in_order(std::vector<ThreadStretch>& stretches) {
  std::stable_sort(
      stretches.begin(), stretches.end(),
      [](const ThreadStretch& a, const ThreadStretch& b) { return a.start < b.start; });
  SessionTime end = SessionTime::min();
  for (ThreadStretch& stretch : stretches) {
    const SessionTime own_end = stretch.start + stretch.dur;
    stretch.start = std::max(stretch.start, end);
    stretch.dur = std::max(own_end - stretch.start, Duration{0});
    end = std::max(end, own_end);
  }
  std::erase_if(stretches, [](const ThreadStretch& one) { return one.dur <= Duration{0}; });
}

// Adds what the recorded events show about the watched threads.
void note_recorded(const RecordedRun& recording, std::vector<WatchedSeries>& threads) {
  const std::map<WatchedThreadId, ThreadId> recorded = recorded_threads(recording);
  std::set<ThreadId> marked;
  for (const Phase& phase : recording.phases) {
    if (phase.kind != PhaseKind::kScope && phase.kind != PhaseKind::kSampler)
      marked.insert(phase.thread);
  }
  for (WatchedSeries& series : threads) {
    const auto thread = recorded.find(series.thread.id);
    if (thread == recorded.end()) continue;
    series.recorded = true;
    series.marked = marked.contains(thread->second);
  }
}

}  // namespace

const std::vector<ThreadStretch>& Schedule::stretches_of(ThreadId thread) const {
  static const std::vector<ThreadStretch> kNone;
  const auto found = stretches.find(thread);
  return found == stretches.end() ? kNone : found->second;
}

Result<Schedule> read_schedule(const RecordedRun& recording,
                               const std::set<ThreadId>& loop_threads) {
  Schedule schedule;
  if (recording.for_each_stretch) {
    const Status status = recording.for_each_stretch([&](const ThreadStretch& stretch) {
      if (loop_threads.contains(stretch.thread))
        schedule.stretches[stretch.thread].push_back(stretch);
    });
    if (!status.ok()) return status;
  }
  for (auto& [thread, stretches] : schedule.stretches) put_in_order(stretches);
  std::map<WatchedThreadId, std::size_t> places;
  for (const StoredWatchedThread& thread : recording.watched_threads) {
    if (schedule.threads.size() >= Schedule::kMaxThreads) break;
    places[thread.id] = schedule.threads.size();
    schedule.threads.push_back({thread, {}, {}});
  }
  if (recording.for_each_thread_reading) {
    const Status status = recording.for_each_thread_reading([&](const ThreadReading& reading) {
      const auto place = places.find(reading.thread);
      if (place == places.end()) return;
      WatchedSeries& series = schedule.threads[place->second];
      series.run.add(reading.at, to_ns(reading.run));
      series.starved.add(reading.at, to_ns(reading.starved));
      series.cores = reading.cores;
      ++series.readings;
    });
    if (!status.ok()) return status;
  }
  std::erase_if(schedule.threads, [](const WatchedSeries& one) { return one.readings == 0; });
  note_recorded(recording, schedule.threads);
  return schedule;
}

}  // namespace stepscope
