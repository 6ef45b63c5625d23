// How the threads of a run were scheduled: the loop threads from mark to mark, and all watched
// threads as readings.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/counters/counters.h"
#include "analyzer/recording.h"

namespace stepscope {

// The readings of one thread.
struct WatchedSeries {
  StoredWatchedThread thread;
  CounterSeries run, starved;  // ns since the thread began
  std::int64_t cores = 0;      // cores that it may run on, at the last reading; 0: unknown
  std::int64_t readings = 0;
  bool recorded = false;  // it has marks or ops of its own
  bool marked = false;    // it has phases other than scopes and a sampler's
};

// Plain values. Memory: a stretch per step of the loop threads, and CounterSeries::kMaxReadings
// readings of each thread.
struct Schedule {
  // More than a recorder watches. In a store from elsewhere, further threads are left out.
  static constexpr std::size_t kMaxThreads = 4096;

  std::map<ThreadId, std::vector<ThreadStretch>> stretches;  // by start, without overlaps
  std::vector<WatchedSeries> threads;                        // those with readings

  [[nodiscard]] const std::vector<ThreadStretch>& stretches_of(ThreadId thread) const;
};

// `loop_threads`: those whose stretches are kept. Fails only when reading the store fails.
Result<Schedule> read_schedule(const RecordedRun& recording,
                               const std::set<ThreadId>& loop_threads);

}  // namespace stepscope
