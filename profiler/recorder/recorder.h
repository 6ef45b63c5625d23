// The recorder of the embedded mode: drains this process's rings into a store and samples its
// counters, on its own thread. (recorder/run_recorder.h drains other processes.)
//
// Thread safety: start() and stop() may be called from any thread, but one at a time; the rest runs
// on the recorder's own thread.
// Invariants: never touches a training thread, and no exception leaves it. If the store cannot be
// written any more (disk full, no memory), it calls `on_failure` once; what was written stays a
// valid store (recorder/store_session.h).
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "profiler/recorder/counter_samples.h"
#include "profiler/recorder/proc_samples.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/recorder/ring_collector.h"
#include "profiler/recorder/stack_recording.h"
#include "profiler/recorder/store_session.h"
#include "profiler/recorder/thread_watch.h"
#include "profiler/session/recorder_library.h"
#include "store/status.h"

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
  explicit Recorder(std::unique_ptr<StoreSession> session) : session_(std::move(session)) {}

  static Status open(const RecorderStart& start, std::unique_ptr<Recorder>& recorder);
  void take_stacks(const Region& region);
  void run() noexcept;
  Status store_facts();
  Status look();
  Status sample();

  // Used by the recorder thread, and by stop() after joining it.
  std::unique_ptr<StoreSession> session_;
  ProcessDrain* drain_ = nullptr;  // in session_
  ProcessCounters counters_{getpid()};
  RingCollector collector_;
  MachineSampler machine_;
  ThreadWatch threads_;
  StackRecording stacks_{0};  // its own process is not sampled
  std::int64_t last_sample_ns_ = 0;
  Meta facts_;         // not yet stored
  bool held_ = false;  // another program has locked the store: nothing can be written
  Status outcome_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;            // guarded by mutex_
  const Meta* last_meta_ = nullptr;  // set by stop(); guarded by mutex_ until stopping_ is set
  std::thread thread_;
};

}  // namespace stepscope
