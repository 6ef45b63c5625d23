// The current state of a run, refreshed repeatedly: what its latest steps spend their time on, and
// the history of the step time. For a recording in progress, and for the end of a finished one.
//
// Each refresh reads what was added since the last one, keeps only the latest events, and passes
// them to analyze(), so that a view of a running recording agrees with its later report. The cost
// of a refresh does not grow with the run.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report.h"
#include "analyzer/steps/find_loops.h"
#include "store/trace_tail.h"

namespace stepscope {

// How many events of each kind are kept: at least the lower number, and up to the upper one while
// they cover fewer than kLiveSteps steps.
inline constexpr std::size_t kLiveEvents = std::size_t{1} << 15;
inline constexpr std::size_t kLiveMostEvents = std::size_t{1} << 19;
inline constexpr std::size_t kLiveSteps = 8;
inline constexpr std::size_t kLivePhases = std::size_t{1} << 13;
inline constexpr std::size_t kLiveHistory = 4096;  // steps of history per loop

struct LiveStep {
  SessionTime end;
  Duration dur{0};
};

// One of LiveFrame::window.loops.
struct LiveLoop {
  ThreadId thread = ThreadId::kNone;
  std::optional<std::int64_t> steps;  // so far, over the whole run; nullopt: inferred from ops, of
                                      // which only the latest are kept
  std::vector<LiveStep> history;      // the latest steps, in order
  std::vector<LastLine> now;          // lines_now(); empty for a run that has ended
};

struct LiveMemory {
  std::string process;
  std::int64_t pid = 0;
  std::optional<std::int64_t> rss_bytes, tensor_bytes, device_allocated_bytes,
      device_reserved_bytes;  // nullopt: not sampled
};

struct LiveFrame {
  bool being_recorded = false;
  bool finished = false;      // the recording was ended properly; else its recorder died
  std::int64_t at_ns = 0;     // the time of the latest known event
  std::int64_t op_count = 0;  // of the whole run
  // Of the latest steps. Step numbers are those of the whole run where LiveLoop::steps is known.
  AnalysisReport window;
  std::vector<LiveLoop> loops;     // one for each of window.loops
  std::vector<LiveMemory> memory;  // of the processes that were sampled and have not ended
  std::optional<std::int64_t> memory_available_bytes;
};

// Thread safety: none.
class LiveRun {
 public:
  // Holds the latest `phases` phases. Errors: those of TraceTail::open().
  static Result<std::unique_ptr<LiveRun>> open(const std::filesystem::path& path,
                                               std::size_t phases = kLivePhases);

  // Errors: reading the store failed. The frame is valid until the next call.
  Result<const LiveFrame*> refresh();
  // The recording as of the last refresh().
  [[nodiscard]] const TraceTail& recording() const { return *tail_; }

 private:
  using News = TraceTail::News;
  struct LoopPast {
    std::int64_t steps_before = 0;  // steps that begin before the phases kept
    std::deque<LiveStep> history;
  };
  using CounterOf = std::pair<ProcessId, std::int64_t>;  // and of which GPU

  LiveRun(std::unique_ptr<TraceTail> tail, std::size_t phases)
      : most_phases_(phases), tail_(std::move(tail)) {}

  Status take_in_phases(News& news);
  void take_in(News& news);
  [[nodiscard]] std::vector<Loop> marked_loops() const;
  void remember_steps(bool whole);
  void drop_old_phases();
  void drop_old_events();
  [[nodiscard]] RecordedRun recorded_run() const;
  Status analyse_window();
  void describe_loops();
  Status describe_lines();
  void describe_memory();

  const std::size_t most_phases_;
  std::unique_ptr<TraceTail> tail_;
  std::size_t most_events_ = kLiveEvents;
  News held_;  // the latest of all kinds; phases by thread and start
  std::map<ThreadId, LoopPast> past_;
  std::map<std::string, std::map<CounterOf, std::int64_t>> latest_;  // by the counter's name
  LiveFrame frame_;
};

}  // namespace stepscope
