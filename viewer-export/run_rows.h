// The rows above the threads of a trace: for each training loop its verdict, its steps and its
// phases, and what was lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/analysis.h"
#include "store/trace_reader.h"
#include "viewer-export/cut.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/track_map.h"

namespace stepscope {

class RunRows {
 public:
  // Everything must outlive the result. Adds its rows to `tracks`.
  RunRows(const TraceReader& reader, const Analysis& analysis, const std::vector<Phase>& phases,
          const std::vector<Loss>& losses, const Cut& cut, TrackMap& tracks);

  void write_steps(EventWriter& writer) const;
  void write_phases(EventWriter& writer) const;
  // `whole`: the range of all drawn events.
  void write_verdicts(EventWriter& writer, const TimeRange& whole) const;

  [[nodiscard]] std::int64_t step_count() const;
  [[nodiscard]] std::int64_t phase_count() const;
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }
  // From the first start to the last end of the steps and phases; nothing if there are none.
  [[nodiscard]] std::optional<TimeRange> extent() const;

 private:
  struct PlacedPhase {
    const Phase* phase = nullptr;
    std::size_t lane = 0;
  };
  // The rows of one thread. Rows that it does not need have tid 0.
  struct Loop {
    ThreadId thread = ThreadId::kNone;
    std::vector<const Verdict*> verdicts;  // several: one per device
    std::vector<const Step*> steps;
    std::vector<const LoopSegment*> segments;
    std::vector<PlacedPhase> phases;
    std::size_t lanes = 0;
    std::vector<Track> verdict_rows;  // of verdicts
    Track step_row;
    std::vector<Track> phase_rows;  // [lane]
    std::string suffix;             // distinguishes the loops of one process
  };

  Loop& loop_of(ThreadId thread);
  void collect(const Analysis& analysis, const std::vector<Phase>& phases, const Cut& cut);
  void add_rows(TrackMap& tracks);
  void name_loops();

  const TraceReader& reader_;
  const std::vector<Loss>& losses_;
  std::vector<Loop> loops_;
  std::map<ThreadId, std::size_t> loop_at_;  // in loops_
  Track loss_row_;                           // if there is no verdict row for the losses
  std::int64_t skipped_ = 0;
};

}  // namespace stepscope
