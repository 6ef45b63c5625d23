// The recorder of the embedded mode: drains this process's rings into a store, from a thread of its
// own. (recorder/run_recorder.h drains other processes.)
//
// Thread safety: start() and stop() from any one thread; the rest is its own thread's. Invariants:
// never touches a training thread, and no exception leaves it. When the store can no longer be
// written (disk full, no memory) it reports that once through `on_failure` and from then on only
// counts; what was written stays a valid store, and stop() adds the number of missing events.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "profiler/recorder/missing_events.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/recorder/recorder_clock.h"
#include "profiler/session/recorder_library.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

class Recorder final : public EmbeddedRecorder {
 public:
  // Creates the store and starts draining. Discards what is already in the rings.
  static Status start(const RecorderStart& start, std::unique_ptr<Recorder>& recorder) noexcept;
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Status stop(const Meta& meta) noexcept override;

 private:
  Recorder(const RecorderStart& start, std::unique_ptr<TraceWriter> writer);

  static Status open(const RecorderStart& start, std::unique_ptr<Recorder>& recorder);
  void run() noexcept;
  Status drain_and_flush();
  Status finish();
  void keep(Status status) noexcept;
  Status store_what_is_missing();

  // Constant while the thread runs.
  const std::function<void(const Status&)> on_failure_;

  // The recorder thread's; stop() uses them after joining it.
  MissingEvents missing_;
  std::unique_ptr<TraceWriter> writer_;
  RecorderClock clock_;
  std::unique_ptr<ProcessDrain> drain_;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t events_flushed_ = 0;
  Status failure_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;            // guarded by mutex_
  const Meta* last_meta_ = nullptr;  // of stop(); guarded by mutex_ until stopping_ is set
  std::thread thread_;
};

}  // namespace stepscope
