// TraceWriter: the only way into a store. A recorder, an importer and the analyzer write through
// it.
//
// Thread safety: none; one thread at a time.
// Invariants: a reader never sees half a batch (one transaction covers whole add() calls); equal
// strings have one id; the file is a valid store from create() on, even if the process dies.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "store/analysis.h"
#include "store/device_events.h"
#include "store/events.h"
#include "store/status.h"

namespace stepscope {

// What create() does when the path is taken. A file that is not a Stepscope store, or one that
// another process is recording into, is never touched.
enum class ExistingStore : std::uint8_t {
  // An earlier store becomes PATH.old, replacing an earlier PATH.old. One without a single event is
  // removed instead.
  kKeepAsOld,
  kRefuse,
};

template <typename Type, typename... Types>
concept OneOf = (std::is_same_v<Type, Types> || ...);

// The types that TraceWriter::add() accepts.
template <typename Type>
concept StoredRow = OneOf<Type, Op, Phase, ProcessEnd, UnfinishedOp, Sample, ThreadStretch,
                          ThreadReading, StackFrame, StackSample, NativeSample, ApiCall, Kernel,
                          Copy, Memset, Sync, Loss, ModuleCall>;

class TraceWriter {
 public:
  // A new, empty store at `path`. Errors: kBusy (being recorded into), kBadInput (something else is
  // there), kIo (not writable, disk full).
  static Result<std::unique_ptr<TraceWriter>> create(
      const std::filesystem::path& path, ExistingStore existing = ExistingStore::kKeepAsOld);
  // An existing store, to put an analysis into it. Migrates an older schema.
  static Result<std::unique_ptr<TraceWriter>> open(const std::filesystem::path& path);

  // A caller that calls create() under a lock that its own fork handlers take must call this before
  // its pthread_atfork(): the store has fork handlers too, and the order of installation decides
  // the order of locking.
  static void install_fork_handlers();

  ~TraceWriter();  // calls finish() and ignores its error
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Writes of one transaction are visible to readers at the next flush(). After an I/O error (disk
  // full) every later call returns the same error and the store stays as it was at the last
  // flush().
  StringId intern(std::string_view text);  // "" is kNone; invalid UTF-8 is replaced by U+FFFD
  Result<ProcessId> add_process(const Process& process);
  Result<ThreadId> add_thread(const Thread& thread);
  Status update_thread(ThreadId id, const Thread& thread);
  Result<WatchedThreadId> add_watched_thread(const WatchedThread& thread);
  Result<DeviceId> add_device(const Device& device);
  Status update_device(DeviceId id, const Device& device);
  Result<StreamId> add_stream(const Stream& stream);
  // Rows of one kind, in a vector, span or array. A Loss adds to what is stored for its thread and
  // kind.
  template <std::ranges::contiguous_range Rows>
    requires StoredRow<std::ranges::range_value_t<Rows>>
  Status add(const Rows& rows) {
    return add_rows(std::span<const std::ranges::range_value_t<Rows>>(rows));
  }
  template <StoredRow Row>
  Status add(const Row& row) {
    return add_rows(std::span<const Row>(&row, 1));
  }
  Status set_meta(std::string_view key, std::string_view value);  // replaces

  // Replaces the analysis as a whole, adds the indexes that its views need, and flushes.
  Status replace_analysis(const Analysis& analysis);

  Status flush();  // commit; the next write begins a new transaction

  // A write that begins a transaction waits 2 seconds for another program's lock on the store, then
  // fails with kBusy. A recorder must not: it begins the transaction first, and while the store is
  // locked it writes nothing.
  //
  // Begins a transaction unless one is open. False: another program's lock still held after
  // `patience`, and nothing has changed. After any other error true: the next write returns it.
  bool try_begin(std::chrono::milliseconds patience);
  // Ends the transaction if nothing was written in it, so that it keeps no other program waiting.
  void end_if_unused();
  // Drops what was written since the last flush(); every later call returns `why`, an error.
  void stop_writing(Status why);
  // Stores a fact after stop_writing(), at once. Waits for no other program's lock. Errors: kBusy,
  // kIo, and kUsage after finish(), even if that failed.
  Status set_last_meta(std::string_view key, std::string_view value);
  // Removes the store. If it had replaced another, restores that one. No call may follow.
  void discard();
  Status finish();  // flush, fold the write-ahead log into the file, close. No call may follow.

 private:
  class Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  template <StoredRow Row>
  Status add_rows(std::span<const Row> rows);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
