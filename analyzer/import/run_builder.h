// Shared by all importers: collects the events of one or more files, in any order and each file
// with its own clock, and writes them to a new store as a recorder would have done.
//
//   importer --(events as they come)--> RunBuilder: one TimeSorter per kind
//   write():  ops -> OpNester -> store;  nodes -> BackwardPasses -> phases;  the rest by start
//
// Thread safety: none. Memory: that of the sorters, the strings, and a few rows per process, thread
// and stream; it does not grow with the number of events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/import/exhausted_waits.h"
#include "analyzer/import/spill_file.h"
#include "analyzer/import/time_sorter.h"
#include "store/device_events.h"
#include "store/events.h"
#include "store/limits.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// An op with a rank, which orders ops that start and end together by the order in which they began.
struct RankedOp : Op {
  std::uint32_t rank = 0;
};

struct ImportCounts {
  std::int64_t ops = 0, phases = 0, calls = 0, kernels = 0, copies = 0, memsets = 0, syncs = 0,
               samples = 0;
};

class RunBuilder {
 public:
  // `writer`: of a new store. `folder`: for the temporary file.
  RunBuilder(TraceWriter& writer, std::filesystem::path folder);

  // Handles for use in events; they are the ids of the rows to come. Their rows can be filled in
  // until write(). Beyond the limits of a store (store/limits.h) the first handle is returned
  // again, and adding the next event fails.
  ProcessId add_process();
  ThreadId add_thread(ProcessId process);
  DeviceId add_device(ProcessId process, std::int64_t number);
  StreamId add_stream(DeviceId device, std::int64_t context, std::int64_t number);
  Process& process(ProcessId id) { return at(processes_, id); }
  Thread& thread(ThreadId id) { return at(threads_, id); }
  Device& device(DeviceId id) { return at(devices_, id); }
  const Stream& stream(StreamId id) { return at(streams_, id); }
  // A text of more than kLongestName bytes is cut.
  StringId intern(std::string_view text);

  // Events, with times on the clock of their file, whatever its epoch. Errors: kIo; kBadInput when
  // the file has more threads, processes, … or names than a store may hold. Impossible numbers,
  // such as negative bytes, count as unknown.
  Status add(const RankedOp& op);
  Status add(const Phase& phase);
  Status add(const ApiCall& call) { return add_to(calls_, call); }
  Status add(const Kernel& kernel);
  Status add(const Copy& copy);
  Status add(const Memset& memset);
  Status add(const Sync& sync) { return add_to(syncs_, sync); }
  Status add(const Sample& sample);
  void count_loss(const char* kind, std::int64_t count = 1) { losses_[kind] += count; }

  // The file whose events were added since the last call has ended; its clock's 0 is at `epoch`,
  // since 1970 where that is known, else arbitrary (then it cannot be aligned with other files).
  Status end_source(Duration epoch);

  [[nodiscard]] bool empty() const { return first_ == kNever; }
  [[nodiscard]] std::int64_t lost() const;  // of all kinds
  [[nodiscard]] Duration length() const {
    return last_ - first_;
  }  // from the first event to the end
  [[nodiscard]] ImportCounts counts() const;

  // Writes everything. `cancelled` is polled periodically; true ends it with an error. Returns the
  // time of the first event, on the clock of the epochs: it is session time 0.
  Result<Duration> write(const std::function<bool()>& cancelled);

 private:
  static constexpr Duration kNever = Duration::max();
  // A demangled kernel's name may be ten KiB long.
  static constexpr std::size_t kLongestName = std::size_t{64} << 10;

  // A Sample has no duration, and its time field has another name.
  struct TimedSample {
    SessionTime start;
    Duration dur{0};
    Sample sample;
  };
  struct NoRank {
    template <typename Row>
    int operator()(const Row&) const {
      return 0;
    }
  };
  struct OpRank {
    std::uint32_t operator()(const RankedOp& op) const { return op.rank; }
  };
  // Facts that identify the loop's thread of a process.
  struct ThreadFacts {
    std::int64_t marks = 0;        // of steps, input, optimizer
    std::int64_t forward_ops = 0;  // outside any node, with a sequence number
    std::int64_t nodes = 0;
  };

  template <typename Row, typename Id>
  static Row& at(std::vector<Row>& rows, Id id) {
    return rows[static_cast<std::size_t>(id) - 1];
  }
  template <typename Sorter, typename Row>
  Status add_to(Sorter& sorter, const Row& row) {
    if (!too_many_.ok()) return too_many_;
    if (row.dur > kLongest - durations_) return too_long();
    durations_ += row.dur;
    source_first_ = std::min(source_first_, row.start.time_since_epoch());
    source_last_ = std::max(source_last_, row.start.time_since_epoch() + row.dur);
    return sorter.add(row);
  }
  template <typename Id, typename Row>
  Id add_entity(std::vector<Row>& rows, Row row, const char* what);
  ThreadFacts& facts(ThreadId thread) { return facts_[static_cast<std::size_t>(thread) - 1]; }

  Status write_names();
  Status write_ops();
  Status write_phases();  // after the ops
  Status write_samples();
  // `adjust` changes each row before it is written.
  template <typename Row, typename Sorter, typename Adjust>
  Status write_rows(Sorter& sorter, Adjust adjust);
  template <typename Row, typename Sorter>
  Status write_rows(Sorter& sorter);
  Status write_losses();
  std::vector<std::pair<ThreadId, std::vector<ThreadId>>> loops() const;
  Status commit_periodically();

  TraceWriter& writer_;
  SpillFile file_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::vector<Device> devices_;
  std::vector<Stream> streams_;
  std::vector<ThreadFacts> facts_;  // as threads_
  std::map<std::string, std::int64_t> losses_;

  ExhaustedWaits exhausted_;  // known once the ops are written
  TimeSorter<RankedOp, OpRank> ops_;
  TimeSorter<Phase, NoRank> phases_;
  TimeSorter<ApiCall, NoRank> calls_;
  TimeSorter<Kernel, NoRank> kernels_;
  TimeSorter<Copy, NoRank> copies_;
  TimeSorter<Memset, NoRank> memsets_;
  TimeSorter<Sync, NoRank> syncs_;
  TimeSorter<TimedSample, NoRank> samples_;

  static constexpr Duration kLongest{kMaxInAll};
  static Status too_long();

  Status too_many_;        // a limit was exceeded: the next add() returns this
  Duration durations_{0};  // of all events, so that no partial sum overflows
  std::int64_t names_ = 0, name_bytes_ = 0;

  Duration source_first_ = kNever, source_last_{0};  // on the clock of the file
  Duration first_ = kNever, last_{0};                // on that of the epochs
  std::int64_t found_phases_ = 0;
  std::int64_t unflushed_ = 0;
  std::function<bool()> cancelled_;
};

}  // namespace stepscope
