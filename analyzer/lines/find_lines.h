// The lines of the program that a loop's time went to.
//
// Marks and the scheduler say exactly how long the loop was in each phase, and for how much of that
// its thread was blocked; samples only divide these times among lines. docs/attribution.md,
// "Lines", states the rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/lines/own_code.h"
#include "analyzer/recording.h"
#include "analyzer/report.h"
#include "analyzer/steps/find_loops.h"
#include "store/status.h"

namespace stepscope {

// The stack samples of a recording, in memory: those of a thread by time.
class StackHistory {
 public:
  // Of a longer recording every second sample is kept, or every fourth, …
  static constexpr std::size_t kMostSamples = 4'000'000;

  // `recording` outlives it. Fails only when reading the store fails.
  static Result<StackHistory> read(const RecordedRun& recording);

  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] const OwnCode& code() const { return *code_; }
  [[nodiscard]] const std::map<WatchedThreadId, std::vector<StackSample>>& samples() const {
    return samples_;
  }

 private:
  std::map<WatchedThreadId, std::vector<StackSample>> samples_;
  std::unique_ptr<OwnCode> code_;
};

// Whether a thread that is sampled is found asleep more often than it is.
bool samples_come_late(const SamplingFacts& sampling);

// Whether the thread may make the loop's batches: another of its process, or one of a child's.
bool may_make_batches(const StoredWatchedThread& thread, const LoopReport& report,
                      const RecordedRun& recording);

// Fills report.lines and report.line_use from the steps, phases and starvation of `report`.
void find_lines(const RecordedRun& recording, const Loop& loop, const StackHistory& history,
                LoopReport& report);

}  // namespace stepscope
