#include "analyzer/import/run_builder.h"

#include <algorithm>
#include <optional>
#include <span>

#include "analyzer/import/backward_passes.h"
#include "analyzer/import/op_nester.h"
#include "store/limits.h"

namespace stepscope {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// How many rows are added to the store at a time, and after how many rows they are committed: a
// longer transaction would make the write-ahead log grow.
constexpr std::size_t kBatch = 2048;
constexpr std::int64_t kCommitEvery = 1 << 18;

bool is_mark(PhaseKind kind) {
  return kind == PhaseKind::kStep || kind == PhaseKind::kInput || kind == PhaseKind::kOptimizer;
}

// Rows on their way into the store, a batch at a time.
template <typename Row>
class Batch {
 public:
  using Put = std::function<Status(std::span<const Row>)>;
  explicit Batch(Put put) : put_(std::move(put)) { rows_.reserve(kBatch); }

  Status add(const Row& row) {
    rows_.push_back(row);
    return rows_.size() < kBatch ? Status() : flush();
  }
  Status flush() {
    if (rows_.empty()) return {};
    Status status = put_(rows_);
    rows_.clear();
    return status;
  }

 private:
  Put put_;
  std::vector<Row> rows_;
};

// What a trace says about a process, without impossible values.
Process plausible(Process process) {
  if (process.rank < -1 || process.rank > kLargestNumber) process.rank = -1;
  return process;
}

// A new store numbers its rows from 1, and so does the builder: its handles need no translation.
template <typename Id>
Status expect_id(const Result<Id>& given, std::size_t expected) {
  if (!given.ok() || static_cast<std::size_t>(*given) == expected) return given.status();
  return Status::error(ErrorKind::kIo, "the store is not new");
}

}  // namespace

RunBuilder::RunBuilder(TraceWriter& writer, std::filesystem::path folder)
    : writer_(writer),
      file_(std::move(folder)),
      ops_(file_, 16 * kMiB),
      phases_(file_, kMiB),
      calls_(file_, 4 * kMiB),
      kernels_(file_, 8 * kMiB),
      copies_(file_, 2 * kMiB),
      memsets_(file_, 2 * kMiB),
      syncs_(file_, 2 * kMiB),
      samples_(file_, 2 * kMiB) {}

template <typename Id, typename Row>
Id RunBuilder::add_entity(std::vector<Row>& rows, Row row, const char* what) {
  if (static_cast<std::int64_t>(rows.size()) < kMaxEntities) {
    rows.push_back(std::move(row));
    return static_cast<Id>(rows.size());
  }
  too_many_ = Status::error(ErrorKind::kBadInput, "the traces have more than " +
                                                      std::to_string(kMaxEntities) + " " + what +
                                                      ", which is more than a store may hold");
  return Id{1};
}

ThreadId RunBuilder::add_thread(ProcessId process) {
  Thread thread;
  thread.process = process;
  const auto id = add_entity<ThreadId>(threads_, std::move(thread), "threads");
  facts_.resize(threads_.size());
  return id;
}

ProcessId RunBuilder::add_process() {
  return add_entity<ProcessId>(processes_, Process(), "processes");
}

DeviceId RunBuilder::add_device(ProcessId process, std::int64_t number) {
  Device device;
  device.process = process;
  device.number = number;
  return add_entity<DeviceId>(devices_, std::move(device), "devices");
}

StreamId RunBuilder::add_stream(DeviceId device, std::int64_t context, std::int64_t number) {
  return add_entity<StreamId>(streams_, Stream{device, context, number}, "streams");
}

StringId RunBuilder::intern(std::string_view text) {
  text = text.substr(0, kLongestName);  // half a character at its end becomes U+FFFD
  const StringId id = writer_.intern(text);
  if (static_cast<std::int64_t>(id) <= names_) return id;
  names_ = static_cast<std::int64_t>(id);
  name_bytes_ += 3 * static_cast<std::int64_t>(text.size());  // if each byte became U+FFFD
  if (names_ > kMaxStrings || name_bytes_ > kMaxNameBytes) {
    too_many_ = Status::error(ErrorKind::kBadInput,
                              "the traces have more names, or longer ones, than a store may hold");
  }
  return id;
}

Status RunBuilder::too_long() {
  return Status::error(ErrorKind::kBadInput,
                       "the events of the traces take more than 73 years in total");
}

Status RunBuilder::add(const RankedOp& op) {
  if (op.sequence < -1) {
    RankedOp without = op;
    without.sequence = -1;
    return add(without);
  }
  ThreadFacts& thread = facts(op.thread);
  thread.nodes += op.scope == OpScope::kBackwardFunction ? 1 : 0;
  thread.forward_ops += op.scope == OpScope::kFunction && op.sequence >= 0 ? 1 : 0;
  return add_to(ops_, op);
}

Status RunBuilder::add(const Phase& phase) {
  facts(phase.thread).marks += is_mark(phase.kind) ? 1 : 0;
  return add_to(phases_, phase);
}

Status RunBuilder::add(const Kernel& kernel) {
  Kernel kept = kernel;
  kept.static_shared_bytes = known_amount(kernel.static_shared_bytes, kLargestUnsigned);
  kept.dynamic_shared_bytes = known_amount(kernel.dynamic_shared_bytes, kLargestUnsigned);
  return add_to(kernels_, kept);
}

Status RunBuilder::add(const Copy& copy) {
  Copy kept = copy;
  kept.bytes = known_amount(copy.bytes, kLargestCopy);
  return add_to(copies_, kept);
}

Status RunBuilder::add(const Memset& memset) {
  Memset kept = memset;
  kept.bytes = known_amount(memset.bytes, kLargestCopy);
  return add_to(memsets_, kept);
}

Status RunBuilder::add(const Sample& sample) {
  if (sample.value > kLargestValue || sample.value < -kLargestValue) {
    count_loss("bad_event");
    return {};
  }
  return add_to(samples_, TimedSample{sample.at, Duration(0), sample});
}

Status RunBuilder::end_source(Duration epoch) {
  if (source_first_ != kNever) {
    first_ = std::min(first_, source_first_ + epoch);
    last_ = std::max(last_, source_last_ + epoch);
  }
  source_first_ = kNever;
  source_last_ = Duration(0);
  Status status = ops_.end_source(epoch);
  if (status.ok()) status = phases_.end_source(epoch);
  if (status.ok()) status = calls_.end_source(epoch);
  if (status.ok()) status = kernels_.end_source(epoch);
  if (status.ok()) status = copies_.end_source(epoch);
  if (status.ok()) status = memsets_.end_source(epoch);
  if (status.ok()) status = syncs_.end_source(epoch);
  if (status.ok()) status = samples_.end_source(epoch);
  return status;
}

std::int64_t RunBuilder::lost() const {
  std::int64_t sum = 0;
  for (const auto& [kind, count] : losses_) sum += count;
  return sum;
}

ImportCounts RunBuilder::counts() const {
  return {ops_.count(),    phases_.count() + found_phases_,
          calls_.count(),  kernels_.count(),
          copies_.count(), memsets_.count(),
          syncs_.count(),  samples_.count()};
}

// For each process that trains: the thread of its loop, and all its threads. The loop's thread is
// the one with the most marks, or without marks the one that runs most of the forward pass.
std::vector<std::pair<ThreadId, std::vector<ThreadId>>> RunBuilder::loops() const {
  std::map<ProcessId, std::vector<ThreadId>> threads_of;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_of[threads_[i].process].push_back(static_cast<ThreadId>(i + 1));
  }
  const auto facts_of = [this](ThreadId id) -> const ThreadFacts& {
    return facts_[static_cast<std::size_t>(id) - 1];
  };
  std::vector<std::pair<ThreadId, std::vector<ThreadId>>> result;
  for (const auto& [process, threads] : threads_of) {
    const ThreadId loop =
        *std::max_element(threads.begin(), threads.end(), [&](ThreadId a, ThreadId b) {
          return std::pair(facts_of(a).marks, facts_of(a).forward_ops) <
                 std::pair(facts_of(b).marks, facts_of(b).forward_ops);
        });
    const bool leads = facts_of(loop).marks > 0 || facts_of(loop).forward_ops > 0;
    const bool trains = std::any_of(threads.begin(), threads.end(),
                                    [&](ThreadId id) { return facts_of(id).nodes > 0; });
    if (leads && trains) result.emplace_back(loop, threads);
  }
  return result;
}

// Called for each batch: commits from time to time, and checks for cancellation.
Status RunBuilder::commit_periodically() {
  unflushed_ += static_cast<std::int64_t>(kBatch);
  if (cancelled_ && cancelled_()) return Status::error(ErrorKind::kIo, "interrupted");
  if (unflushed_ < kCommitEvery) return {};
  unflushed_ = 0;
  return writer_.flush();
}

Status RunBuilder::write_names() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Status status = expect_id(writer_.add_process(plausible(processes_[i])), i + 1);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Status status = expect_id(writer_.add_thread(threads_[i]), i + 1);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Status status = expect_id(writer_.add_device(devices_[i]), i + 1);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Status status = expect_id(writer_.add_stream(streams_[i]), i + 1);
    if (!status.ok()) return status;
  }
  return {};
}

Status RunBuilder::write_ops() {
  Batch<Op> ops([this](std::span<const Op> rows) {
    const Status status = writer_.add(rows);
    return status.ok() ? commit_periodically() : status;
  });
  Batch<Phase> phases([this](std::span<const Phase> rows) { return writer_.add(rows); });
  OpNester nester([&ops](const Op& op) { return ops.add(op); });
  BackwardPasses passes([this, &phases](const Phase& phase) {
    ++found_phases_;
    return phases.add(phase);
  });
  for (const auto& [loop, threads] : loops()) passes.add_loop(loop, threads);
  Status status = ops_.merge([&](const RankedOp& op) {
    exhausted_.begin(op);
    Op moved = op;
    moved.start -= first_;
    if (Status begun = nester.begin(moved); !begun.ok()) return begun;
    return passes.begin(moved, nester.in_node(moved.thread));
  });
  if (status.ok()) status = nester.end();
  if (status.ok()) status = ops.flush();
  if (status.ok()) status = passes.end();
  if (status.ok()) status = phases.flush();
  if (nester.cut() > 0) count_loss("overlap", nester.cut());
  return status;
}

template <typename Row, typename Sorter, typename Adjust>
Status RunBuilder::write_rows(Sorter& sorter, Adjust adjust) {
  Batch<Row> batch([this](std::span<const Row> rows) {
    const Status status = writer_.add(rows);
    return status.ok() ? commit_periodically() : status;
  });
  const Status status = sorter.merge([&](Row row) {
    adjust(row);
    row.start -= first_;
    return batch.add(row);
  });
  return status.ok() ? batch.flush() : status;
}

template <typename Row, typename Sorter>
Status RunBuilder::write_rows(Sorter& sorter) {
  return write_rows<Row>(sorter, [](Row&) {});
}

Status RunBuilder::write_phases() {
  return write_rows<Phase>(phases_, [this](Phase& phase) {
    const bool waits = phase.kind == PhaseKind::kInput;
    if (waits && exhausted_.contains(phase.thread, phase.start)) phase.kind = PhaseKind::kInputEnd;
  });
}

Status RunBuilder::write_samples() {
  Batch<Sample> batch([this](std::span<const Sample> rows) { return writer_.add(rows); });
  const Status status = samples_.merge([&](const TimedSample& row) {
    Sample sample = row.sample;
    sample.at = row.start - first_;
    return batch.add(sample);
  });
  return status.ok() ? batch.flush() : status;
}

Status RunBuilder::write_losses() {
  for (const auto& [kind, count] : losses_) {
    const Status status = writer_.add(Loss{ThreadId::kNone, kind, count});
    if (!status.ok()) return status;
  }
  return {};
}

Result<Duration> RunBuilder::write(const std::function<bool()>& cancelled) {
  cancelled_ = cancelled;
  if (!too_many_.ok()) return too_many_;
  if (empty()) first_ = Duration(0);
  if (length() > Duration(kFarthestNs)) {
    return Status::error(ErrorKind::kBadInput,
                         "the traces lie more than a year apart, so they are not from one run; "
                         "import each of them separately");
  }
  Status status = write_names();
  if (status.ok()) status = write_ops();
  if (status.ok()) status = write_phases();
  if (status.ok()) status = write_rows<ApiCall>(calls_);
  if (status.ok()) status = write_rows<Kernel>(kernels_);
  if (status.ok()) status = write_rows<Copy>(copies_);
  if (status.ok()) status = write_rows<Memset>(memsets_);
  if (status.ok()) status = write_rows<Sync>(syncs_);
  if (status.ok()) status = write_samples();
  if (status.ok()) status = write_losses();
  if (!status.ok()) return status;
  return first_;
}

}  // namespace stepscope
