// One recording's store and all that a recorder does with it, wherever the events come from: facts,
// the clock, commits, the first failure, and what is missing after one.
//
// Thread safety: none; one recorder's. Invariants: no exception leaves attempt() or finish(). After
// the first failure nothing is written any more; the drains then only count, and finish() stores
// how many events are missing.
#pragma once

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
  // The same, but a store that is at `output` stays there until begin(): a program that turns out
  // to have nothing to record does not replace it. Errors: those that create() would have.
  static Result<std::unique_ptr<StoreSession>> prepare(const std::filesystem::path& output,
                                                       const Meta& meta);
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  // `on_failure` is called once, with the first failure, and must not throw.
  void set_on_failure(OnFailure on_failure) { on_failure_ = std::move(on_failure); }

  // Runs `work`, which returns a Status, also after a failure. The first error or exception is the
  // session's failure.
  template <typename Work>
  void attempt(Work&& work) noexcept {
    keep(contained(std::forward<Work>(work)));
  }
  [[nodiscard]] bool failed() const { return !failure_.ok(); }
  [[nodiscard]] const Status& failure() const { return failure_; }

  // Creates the store, if that is still to be done. No event may be written before.
  Status begin();
  [[nodiscard]] bool begun() const { return begun_; }
  // From begin() to finish().
  [[nodiscard]] TraceWriter& writer() { return *writer_; }
  // Also before begin().
  Status set_meta(const std::string& key, const std::string& value);
  [[nodiscard]] const ClockMap& clock() const { return clock_.map(); }
  [[nodiscard]] SessionTime now() const { return clock_.now(); }
  // Call often.
  void steer_clock() { clock_.steer(); }

  // Drains `region` into this store; after a failure it only counts. Lives as long as the session;
  // close() it before the region is unmapped. If this throws, nothing has changed.
  ProcessDrain& open_drain(const Region& region, ProcessId process);

  // The last flush is kFlushPeriodNs old.
  [[nodiscard]] bool flush_is_due() const;
  // Makes everything so far visible to readers. Nothing before begin() and after a failure.
  Status flush();

  // Stores `meta` and that the recording ended at `end`, and closes the store; after a failure,
  // stores how many events are missing. Returns the failure. Once; afterwards only totals() may be
  // asked of the drains.
  // Before begin(), `output` stays as it is.
  Status finish(const Meta& meta, SessionTime end) noexcept;
  // Leaves nothing at `output` but what was there before. No call after it.
  void discard();

 private:
  StoreSession(const std::filesystem::path& output, const Meta& meta);

  void keep(Status status) noexcept;
  Status store_end(const Meta& meta, SessionTime end);
  Status store_missing();
  [[nodiscard]] std::int64_t events_seen() const;

  const std::filesystem::path output_;
  Meta meta_;                       // until begin()
  std::optional<StoreFile> claim_;  // the same; of the store that is at output_
  bool begun_ = false;
  OnFailure on_failure_;
  MissingEvents missing_;
  std::unique_ptr<TraceWriter> writer_;
  RecorderClock clock_;
  std::list<ProcessDrain> drains_;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t events_flushed_ = 0;
  Status failure_;
};

}  // namespace stepscope
