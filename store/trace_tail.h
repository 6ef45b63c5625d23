// TraceTail: reads again and again what a recording has added to a store. For views that follow a
// run.
//
// A TraceReader is a snapshot: as long as it lives, its open transaction keeps the recorder's
// write-ahead log from being folded in. A TraceTail has a transaction only during read(), which
// reads what was added since the last call.
//
// Thread safety: none; one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_reader.h"

namespace stepscope {

class TraceTail {
 public:
  // How many rows one read() returns at most.
  struct Most {
    std::int64_t phases = 0;  // the oldest first; the rest comes with the next read()
    std::int64_t events = 0;  // of ops, and of each kind of device event: the latest; older ones
                              // are skipped
  };

  // All in the order of recording.
  struct News {
    bool more_phases = false;  // there are more than Most::phases: nothing else was read
    std::vector<Phase> phases;
    std::vector<Op> ops;
    std::vector<ApiCall> calls;
    std::vector<Kernel> kernels;
    std::vector<Copy> copies;
    std::vector<Memset> memsets;
    std::vector<Sync> syncs;
    std::vector<Sample> samples;
    std::vector<ThreadStretch> stretches;
    std::vector<ThreadReading> thread_readings;
    std::vector<StackFrame> frames;          // their ids follow those of earlier calls
    std::vector<StackSample> stack_samples;  // the latest Most::events
    std::vector<NativeSample> native_samples;
    bool skipped = false;       // there were too many events to read all
    std::int64_t op_count = 0;  // of the whole store

    // All rows so far, each time.
    std::vector<Loss> losses;
    std::vector<ProcessEnd> ends;
    std::vector<UnfinishedOp> unfinished;
    std::vector<StoredWatchedThread> watched_threads;
    bool being_recorded = false;
  };

  // Errors: those of TraceReader::open().
  static Result<std::unique_ptr<TraceTail>> open(const std::filesystem::path& path);
  ~TraceTail();
  TraceTail(const TraceTail&) = delete;
  TraceTail& operator=(const TraceTail&) = delete;

  // What was committed since the last read(). Errors: reading the store failed.
  Result<News> read(const Most& most);

  // As of the last read().
  [[nodiscard]] std::optional<std::string> meta(std::string_view key) const;
  [[nodiscard]] std::int64_t meta_int(std::string_view key, std::int64_t otherwise) const;
  [[nodiscard]] std::string_view text(StringId id) const;  // valid until the next read()
  [[nodiscard]] const std::vector<StoredProcess>& processes() const;
  [[nodiscard]] const std::vector<StoredThread>& threads() const;
  [[nodiscard]] const std::vector<StoredDevice>& devices() const;
  [[nodiscard]] const std::vector<StoredStream>& streams() const;

 private:
  class Impl;
  explicit TraceTail(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
