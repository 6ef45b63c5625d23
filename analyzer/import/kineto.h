// Reads a trace of the PyTorch profiler (Kineto's Chrome trace), of any of its dialects, into a
// RunBuilder. docs/import.md lists what is read and what is not.
//
// Thread safety: none. Memory: a batch of events, regardless of the file's length.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/import/byte_source.h"
#include "analyzer/import/kineto_header.h"
#include "analyzer/import/kineto_names.h"
#include "analyzer/import/memory_counters.h"
#include "analyzer/import/run_builder.h"
#include "analyzer/import/trace_event.h"
#include "store/status.h"

namespace stepscope {

class KinetoReader {
 public:
  // `name`: of the file, for errors.
  KinetoReader(RunBuilder& run, std::string name);

  // Reads the whole file. `keep_going` is called periodically; false ends the read with an error.
  // After an error, the builder has what was read before. Errors: kBadInput, with the offset; kIo.
  Status read(ByteSource& source, const std::function<bool()>& keep_going);

  // Passes the builder the facts known only at the end of the file; once, after read(). `rank`: for
  // a file that does not state its rank (-1: none).
  Status finish(std::int64_t rank);

  [[nodiscard]] const KinetoHeader& header() const { return header_; }
  [[nodiscard]] std::int64_t rank() const { return rank_; }  // after finish(); -1: none
  [[nodiscard]] std::int64_t pid() const { return run_.process(process_).pid; }  // after finish()
  [[nodiscard]] const char* dialect() const;  // "PyTorch profiler, 2021", …
  [[nodiscard]] bool any_known() const;       // an event of a kind that Kineto writes
  [[nodiscard]] bool has_wall_clock() const;  // times are, or can be converted to, times since 1970
  [[nodiscard]] std::int64_t python_functions() const { return count(KinetoKind::kPython); }
  [[nodiscard]] std::int64_t incomplete() const { return incomplete_; }  // as in ImportSummary

 private:
  using StreamKey = std::tuple<DeviceId, std::int64_t, std::int64_t>;  // with context and number
  struct Placed {
    SessionTime start;
    Duration dur;
  };

  [[nodiscard]] std::int64_t count(KinetoKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }
  Status read_batch(const TracePiece& piece, const TraceCutter& cutter);
  void find_anchor(const TracePiece& piece);
  void take(const TraceEvent& event);
  void take_metadata(const TraceEvent& event);
  void take_memory(const TraceEvent& event);
  Status take_complete(KinetoKind kind, const TraceEvent& event);
  Status take_op(const TraceEvent& event, const Placed& at, bool annotation);
  Status add_mark(const RankedOp& op, std::string_view name);
  Status take_call(const TraceEvent& event, const Placed& at);
  Status take_kernel(const TraceEvent& event, const Placed& at);
  Status take_copy(const TraceEvent& event, const Placed& at);
  Status take_memset(const TraceEvent& event, const Placed& at);
  Status take_sync(const TraceEvent& event, const Placed& at);
  std::optional<Placed> place(const TraceEvent& event);
  ThreadId thread_of(const TraceEvent& event);
  DeviceId device_of(const TraceEvent& event);
  StreamId stream_of(const TraceEvent& event);
  ProcessId process_of(std::string_view pid);
  Activity activity(const TraceEvent& event, const Placed& at);
  std::int64_t correlation(std::string_view text);
  void name_everything();

  RunBuilder& run_;
  const std::string name_;
  const ProcessId process_;
  KinetoHeader header_;
  TraceEventParser parser_;
  MemoryCounters memory_;
  Status status_;  // of the builder, within a batch
  std::optional<std::int64_t> anchor_ns_;
  std::array<std::int64_t, kKinetoKindCount> counts_{};
  std::int64_t incomplete_ = 0;
  std::int64_t rank_ = -1;
  bool old_names_ = false;  // categories of 2021

  // By their names in the trace; the last one found is usually needed next.
  std::map<std::string, ProcessId, std::less<>> processes_;
  std::map<std::string, std::string, std::less<>> process_names_;
  std::unordered_map<std::string, ThreadId> threads_;  // by pid and tid
  std::unordered_map<std::string, std::string> thread_names_;
  std::string last_thread_key_;
  ThreadId last_thread_ = ThreadId::kNone;
  std::map<std::int64_t, DeviceId> devices_;
  std::map<StreamKey, StreamId> streams_;
  StreamKey last_stream_key_;
  StreamId last_stream_ = StreamId::kNone;
  std::string key_, shapes_;  // kept for their memory
  // Threads that ran forward ops, and the ids that their nodes use for them.
  std::set<ThreadId> forward_threads_;
  std::set<std::uint32_t> forward_ids_;
};

}  // namespace stepscope
