// The recorder: drains the rings of one process into a store, from a thread of its own.
//
// Thread safety: start() and stop() from any one thread; the rest is its own thread's.
// Invariants: never touches a training thread; when the store cannot be written any more (disk
// full) it stops, says so once through `on_failure`, and what was written stays a valid store.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/recorder/decoder.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/ring_registry.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

class Recorder final : public DecodeContext {
 public:
  using Meta = std::vector<std::pair<std::string, std::string>>;

  // Creates the store at `output` and begins to drain. What lies in the rings from before is
  // discarded. `on_failure` is called at most once, from the recorder's thread.
  static Result<std::unique_ptr<Recorder>> start(const std::filesystem::path& output,
                                                 RingRegistry& rings, const Meta& meta,
                                                 std::function<void(const Status&)> on_failure);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Drains what was written up to now, stores losses and `meta`, closes the store. Once.
  Status stop(const Meta& meta);

 private:
  struct DrainedRing;

  Recorder(std::unique_ptr<TraceWriter> writer, RingRegistry& rings, ClockMap clock,
           std::function<void(const Status&)> on_failure);

  StringId intern(std::string_view text) override;
  ThreadId thread_of_torch_id(std::uint32_t torch_id) override;

  void run();
  Status finish();
  void steer_clock();
  Status drain();
  Status drain_ring(ThreadRing& ring);
  Result<DrainedRing*> drained(ThreadRing& ring);
  Status update_torch_id(DrainedRing& drained, const RingHeader& header);
  Status write_decoded();
  Status store_losses(DrainedRing& drained, const RingHeader& header);
  Status store_loss(ThreadId thread, const char* kind, std::int64_t total, std::int64_t& stored);
  void fail(const Status& status);

  // Constant while the thread runs.
  RingRegistry& rings_;
  const std::function<void(const Status&)> on_failure_;

  // The recorder thread's; stop() uses them after joining it.
  std::unique_ptr<TraceWriter> writer_;
  ClockMap clock_;
  ProcessId process_ = ProcessId::kNone;
  DecodedEvents decoded_;
  std::unordered_map<const RingHeader*, std::unique_ptr<DrainedRing>> drained_;
  std::unordered_map<std::uint32_t, ThreadId> threads_by_torch_id_;
  std::int64_t refused_threads_before_ = 0;
  std::int64_t stored_refused_threads_ = 0;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t last_calibration_ns_ = 0;
  bool busy_ = false;  // some ring was a quarter full: come back soon
  Status failure_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  Meta last_meta_;         // guarded by mutex_ until stopping_ is set
  std::thread thread_;
};

}  // namespace stepscope
