// What the local server shows of a store: the report, the timeline and the latest frame, each made
// on request. Each request opens its own reader and closes it again, so that no reader of a running
// recording stays open.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "analyzer/live/live_run.h"
#include "analyzer/report.h"
#include "store/analysis.h"
#include "store/mutex.h"
#include "store/status.h"
#include "store/trace_reader.h"
#include "viewer-export/byte_sink.h"

namespace stepscope {

// Thread safety: page(), trace() and frame() may be called from several threads.
class ServedRun {
 public:
  using Analyze = std::function<Result<AnalysisReport>(const TraceReader&)>;

  // `live`: the page follows a recording that is still going on.
  ServedRun(std::filesystem::path store, bool live, Analyze analyze)
      : store_(std::move(store)), live_(live), analyze_(std::move(analyze)) {}

  // The report; made again if the recording has grown since the last time, or is another one.
  Result<std::string> page();
  // The Chrome trace, gzip, of the run that the page shows. Streamed: memory does not grow with the
  // run.
  Status trace(ByteSink& sink);
  // What the recording does now, as `top --json` prints it.
  Result<std::string> frame();

 private:
  using Clock = std::chrono::steady_clock;
  using SharedAnalysis = std::shared_ptr<const Analysis>;

  // Tells a store from the one that replaces it under its name.
  struct Version {
    std::uintmax_t device = 0, inode = 0;
    std::int64_t changed_ns = 0;  // only of a recording that is complete
    bool operator==(const Version&) const = default;
  };
  [[nodiscard]] Version version_now(bool grows) const;
  [[nodiscard]] bool is_current() STEPSCOPE_REQUIRES(page_mutex_);
  // What the page shows, and a reader of the same store.
  Status open(std::unique_ptr<TraceReader>& reader, SharedAnalysis& analysis);

  const std::filesystem::path store_;
  const bool live_;
  const Analyze analyze_;
  Mutex page_mutex_;
  std::string page_ STEPSCOPE_GUARDED_BY(page_mutex_);  // empty: not made yet
  bool page_grows_ STEPSCOPE_GUARDED_BY(page_mutex_) = false;
  Clock::time_point renew_page_at_ STEPSCOPE_GUARDED_BY(page_mutex_);
  SharedAnalysis analysis_ STEPSCOPE_GUARDED_BY(page_mutex_);  // what the page shows
  Version version_ STEPSCOPE_GUARDED_BY(page_mutex_);          // of the store that it shows
  Mutex live_mutex_;
  std::unique_ptr<LiveRun> follower_ STEPSCOPE_GUARDED_BY(live_mutex_);
  Version followed_ STEPSCOPE_GUARDED_BY(live_mutex_);
  std::string frame_ STEPSCOPE_GUARDED_BY(live_mutex_);
  Clock::time_point renew_frame_at_ STEPSCOPE_GUARDED_BY(live_mutex_);
};

}  // namespace stepscope
