// The store of one recording and all that a recorder does with it, independent of the source of the
// events: facts, the clock, commits, the first failure, and the events missing after a failure.
//
// Thread safety: none; used by one recorder. Invariants: no exception leaves attempt() or finish().
// After the first failure nothing is written any more; the drains then only count, and finish()
// stores how many events are missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "profiler/recorder/missing_events.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/recorder/recorder_clock.h"
#include "profiler/recorder/store_place.h"
#include "profiler/session/recorder_library.h"
#include "store/contained.h"
#include "store/status.h"
#include "store/store_file.h"
#include "store/trace_writer.h"

namespace stepscope {

class StoreSession {
 public:
  using OnFailure = std::function<void(const Status&)>;

  // Creates the store at `output` with the facts of the machine, `meta` and the clock's anchors;
  // flush() makes them visible. Errors: those of TraceWriter::create(), kIo.
  static Result<std::unique_ptr<StoreSession>> create(const std::filesystem::path& output,
                                                      const Meta& meta);
  // The same, but an existing store at `output` stays until begin(), so that a program which turns
  // out to have nothing to record does not replace it. Errors: those of create().
  static Result<std::unique_ptr<StoreSession>> prepare(const std::filesystem::path& output,
                                                       const Meta& meta);
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  // `on_failure` is called once, with the first failure, and must not throw.
  void set_on_failure(OnFailure on_failure) { on_failure_ = std::move(on_failure); }

  // Runs `work`, which returns a Status, even after a failure. The first error or exception becomes
  // the session's failure.
  template <typename Work>
  void attempt(Work&& work) noexcept {
    keep(contained(std::forward<Work>(work)));
  }
  [[nodiscard]] bool failed() const { return !failure_.ok(); }
  [[nodiscard]] const Status& failure() const { return failure_; }
  // Events that came and will never be in the store, because it failed.
  [[nodiscard]] std::int64_t unwritten() const {
    return failed() ? events_seen() - events_flushed_ : 0;
  }

  // Creates the store, if that has not been done. No event may be written before.
  Status begin();
  [[nodiscard]] bool begun() const { return begun_; }
  // Valid from begin() to finish().
  [[nodiscard]] TraceWriter& writer() { return *writer_; }
  // May be called before begin().
  Status set_meta(const std::string& key, const std::string& value);
  [[nodiscard]] const ClockMap& clock() const { return clock_.map(); }
  [[nodiscard]] SessionTime now() const { return clock_.now(); }
  // Call often.
  void steer_clock() { clock_.steer(); }

  // Takes the store's write lock until the next flush(). False: another program has it. Then write
  // nothing until a later call returns true; the events wait in the rings' collector. True before
  // begin() and after a failure.
  bool lock();
  // The same at the end of the recording: waits up to kLastLockPatience. Errors: kBusy.
  Status lock_at_end();
  // Call after lock() and the writes: releases the lock if there were none.
  void unlock_if_unused();

  // Drains `region` into this store; after a failure it only counts. Lives as long as the session;
  // close() it before the region is unmapped. `backlog`: see ProcessDrain. If this throws, nothing
  // has changed.
  ProcessDrain& open_drain(const Region& region, ProcessId process,
                           std::shared_ptr<RingBacklog> backlog = nullptr);

  // Where the store is: after finish(), also if somebody has moved it meanwhile.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Whether the last flush is kFlushPeriodNs old.
  [[nodiscard]] bool flush_is_due() const;
  // Makes everything so far visible to readers. Does nothing before begin() and after a failure.
  Status flush();

  // Stores `meta` and `end`, the end of the recording, and closes the store; after a failure,
  // stores how many events are missing. Returns the failure. Call it once; afterwards only totals()
  // of the drains may be used. Before begin(), `output` stays as it is.
  Status finish(const Meta& meta, SessionTime end) noexcept;
  // Restores `output` to what was there before. No call may follow.
  void discard();

 private:
  StoreSession(const std::filesystem::path& output, const Meta& meta);

  bool lock_within(std::chrono::milliseconds patience);
  void keep(Status status) noexcept;
  Status store_end(const Meta& meta, SessionTime end);
  Status close();
  // kNotFound if somebody has put another file in the place of the store. Nothing may touch that.
  Status check_place();
  Status store_missing();
  [[nodiscard]] std::int64_t events_seen() const;

  const std::filesystem::path output_;
  std::filesystem::path path_;      // output_, until finish()
  StorePlace place_;                // since begin()
  Meta meta_;                       // until begin()
  std::optional<StoreFile> claim_;  // until begin(): claims the store at output_
  bool begun_ = false;
  OnFailure on_failure_;
  MissingEvents missing_;
  std::unique_ptr<TraceWriter> writer_;
  RecorderClock clock_;
  std::list<ProcessDrain> drains_;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t events_flushed_ = 0;
  std::int64_t locked_out_since_ns_ = 0;  // CLOCK_MONOTONIC; 0: not locked out
  Status failure_;
};

}  // namespace stepscope
