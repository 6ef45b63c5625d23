// TraceReader: the only way to read a store. The analyzer and the exporters read through it.
//
// Thread safety: none; one thread at a time. Several readers may read one store, even while it is
// being recorded. Each sees what was committed when it opened (one read transaction per reader, so
// the write-ahead log grows while one stays open). In a store that nobody records into, the
// recorded data does not change, and analysis() returns the analysis that is in the store at the
// time of the call.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/analysis.h"
#include "store/device_events.h"
#include "store/events.h"
#include "store/status.h"

namespace stepscope {

// A row with its id.
struct StoredProcess : Process {
  ProcessId id = ProcessId::kNone;
};
struct StoredThread : Thread {
  ThreadId id = ThreadId::kNone;
};
struct StoredWatchedThread : WatchedThread {
  WatchedThreadId id = WatchedThreadId::kNone;
};
struct StoredDevice : Device {
  DeviceId id = DeviceId::kNone;
};
struct StoredStream : Stream {
  StreamId id = StreamId::kNone;
};

class TraceReader {
 public:
  // Errors: kNotFound, kBadInput (not a SQLite file, not a store, newer schema, corrupt).
  // A store of an older schema is migrated first, which fails if it cannot be written.
  static Result<std::unique_ptr<TraceReader>> open(const std::filesystem::path& path);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  [[nodiscard]] std::optional<std::string> meta(
      std::string_view key) const;  // keys: docs/schema.md
  [[nodiscard]] std::int64_t meta_int(std::string_view key, std::int64_t otherwise) const;
  // True while some process holds the store open for recording; false also if the recorder died.
  [[nodiscard]] bool being_recorded() const;
  // The recorder died or could not close the store: everything after its last commit is missing.
  [[nodiscard]] bool is_cut_off() const;
  [[nodiscard]] std::string_view text(StringId id) const;  // "" for kNone; valid as long as *this
  [[nodiscard]] std::size_t string_count() const;          // ids are 1..string_count()

  [[nodiscard]] const std::vector<StoredProcess>& processes() const;
  [[nodiscard]] const std::vector<StoredThread>& threads() const;
  [[nodiscard]] const std::vector<StoredDevice>& devices() const;
  [[nodiscard]] const std::vector<StoredStream>& streams() const;

  // All phases, by thread and then start; parents before children at equal starts. Held in memory:
  // a few per step.
  Result<std::vector<Phase>> phases() const;
  Result<std::vector<Loss>> losses() const;
  Result<std::int64_t> op_count() const;
  Result<std::vector<ProcessEnd>> process_ends() const;
  Result<std::vector<UnfinishedOp>> unfinished_ops() const;  // by thread, outermost first
  // In the order of recording; those of one process and counter are ordered by time. Memory does
  // not grow with the number of samples.
  Status for_each_sample(const std::function<bool(const Sample&)>& visit) const;

  // How threads were scheduled. The rows of one thread are ordered by time. Memory does not grow
  // with the number of rows.
  Result<std::vector<StoredWatchedThread>> watched_threads() const;
  Status for_each_stretch(const std::function<void(const ThreadStretch&)>& visit) const;
  Status for_each_thread_reading(const std::function<void(const ThreadReading&)>& visit) const;
  // The frame with FrameId i is at i - 1.
  Result<std::vector<StackFrame>> frames() const;
  // In the same order as the readings.
  Status for_each_stack_sample(const std::function<void(const StackSample&)>& visit) const;
  Status for_each_native_sample(const std::function<void(const NativeSample&)>& visit) const;

  // Calls of modules. Those of one thread are in the order of their ends. Memory does not grow with
  // the number of calls.
  Status for_each_module_call(const std::function<void(const ModuleCall&)>& visit) const;

  // Calls `visit` for each op in the order of recording. The ops of one thread are in the order of
  // their ends (children before parents); threads interleave. Memory does not grow with the number
  // of ops. Stops early when `visit` returns false.
  Status for_each_op(const std::function<bool(const Op&)>& visit) const;

  // What devices did, in the order of recording, which need not be the order of time. Ids count
  // from 1 without gaps, in this order. Memory does not grow with the number of rows.
  Status for_each_api_call(const std::function<void(const ApiCall&)>& visit) const;
  Status for_each_kernel(const std::function<void(const Kernel&)>& visit) const;
  Status for_each_copy(const std::function<void(const Copy&)>& visit) const;
  Status for_each_memset(const std::function<void(const Memset&)>& visit) const;
  Status for_each_sync(const std::function<void(const Sync&)>& visit) const;

  // The same in the order of their starts, the longer first, until `visit` returns false. Sorting
  // uses temporary files, not memory.
  Status for_each_slice_by_start(const std::function<bool(const DeviceSlice&)>& visit) const;
  Status for_each_call_by_start(const std::function<bool(const ApiCall&)>& visit) const;

  // The analysis as last written; no steps and no verdicts if there is none.
  Result<Analysis> analysis() const;

 private:
  class Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
