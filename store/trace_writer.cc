#include "store/trace_writer.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "store/analysis_rows.h"
#include "store/contained.h"
#include "store/database_file.h"
#include "store/device_rows.h"
#include "store/empty_store.h"
#include "store/limits.h"
#include "store/migration.h"
#include "store/op_batch.h"
#include "store/process_rows.h"
#include "store/schema.h"
#include "store/schema_check.h"
#include "store/sqlite.h"
#include "store/store_file.h"
#include "store/store_path.h"
#include "store/string_table.h"
#include "store/table_rows.h"
#include "store/thread_rows.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

// journal_mode WAL: readers may query a store that is being recorded, and a killed recorder leaves
// everything up to its last commit.
constexpr char kLogged[] = "PRAGMA journal_mode = WAL;";

// synchronous NORMAL: a commit does not wait for the disk, a checkpoint does; a power cut may cost
// the last commits and never the file.
// cache_size, in KiB: appending touches the last page of each table; the rest of the cache only
// delays spilling a large transaction to the log.
// wal_autocheckpoint, in pages: 8 MiB. During a checkpoint nothing is taken from the rings'
// collector; with 32 MiB that took longer than 140 ms.
constexpr char kEachConnection[] =
    "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 128;";

}  // namespace

class TraceWriter::Impl {
 public:
  // The StoreFile comes first, because it must outlive SQLite's connection.
  Impl(StoreFile file, Database database, bool recording)
      : file_(std::move(file)), database_(std::move(database)), recording_(recording) {}

  Status prepare();
  // Opens the transaction of the next write. Returns the sticky error if there was one.
  Status begin();
  // The end of every write: remembers the first error.
  Status keep(Status status);
  Status commit();
  bool try_begin(std::chrono::milliseconds patience);
  void end_if_unused();
  Status finish();
  void keep_file() { file_.keep(); }
  void discard_file() { file_.discard(); }
  [[nodiscard]] bool forked() const { return ::getpid() != owner_; }

  StringId intern(std::string_view text);
  Result<ProcessId> add_process(const Process& process);
  Result<ThreadId> add_thread(const Thread& thread);
  Status update_thread(ThreadId id, const Thread& thread);
  Status add_ops(std::span<const Op> ops);
  // These have few columns or far fewer rows than `op`, so running a prepared statement per row is
  // fast enough.
  template <typename Row>
  Status add(std::span<const Row> rows);
  Result<WatchedThreadId> add_watched_thread(const WatchedThread& thread);
  Result<DeviceId> add_device(const Device& device);
  Status update_device(DeviceId id, const Device& device);
  Result<StreamId> add_stream(const Stream& stream);
  Status set_meta(std::string_view key, std::string_view value);
  Status set_last_meta(std::string_view key, std::string_view value);
  Status replace_analysis(const Analysis& analysis);

 private:
  // Within the open transaction.
  Status insert(const Phase& phase);
  Status insert(const Loss& loss);
  template <typename Row>
  Status insert(const Row& row);

  // Folds the log into the file and turns logging off, so that the store opens even where nothing
  // can be written.
  Status seal();

  StoreFile file_;
  OpBatch batch_;  // before database_, whose module points to it
  Database database_;
  const bool recording_;
  const pid_t owner_ = ::getpid();
  bool in_transaction_ = false;
  int changes_before_ = 0;  // of the connection, when the transaction began
  Status failure_;
  StringTable strings_;
  ProcessWriter processes_;
  ThreadWriter threads_;
  DeviceWriter devices_;
  Statement begin_, commit_, insert_ops_, insert_shapes_, insert_phase_, update_loss_, insert_loss_,
      set_meta_;
};

Status TraceWriter::Impl::prepare() {
  if (Status status = database_.exec(kEachConnection); !status.ok()) return status;
  if (Status status = register_op_batch(database_, &batch_); !status.ok()) return status;
  const StatementText statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&insert_ops_,
       "INSERT INTO op(thread_id, name_id, start_ns, dur_ns, self_ns, scope, phase, depth,"
       " sequence, forward_thread) SELECT thread_id, name_id, start_ns, dur_ns, self_ns, scope,"
       " phase, depth, sequence, forward_thread FROM op_batch"},
      {&insert_shapes_,
       "INSERT INTO op_shapes SELECT ?1 + rowid, shapes_id FROM op_batch"
       " WHERE shapes_id IS NOT NULL"},
      {&insert_phase_, "INSERT INTO phase VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)"},
      {&update_loss_,
       "UPDATE loss SET count = min(count + ?3, ?4) WHERE thread_id IS ?1 AND kind = ?2"},
      {&insert_loss_, "INSERT INTO loss VALUES (?1, ?2, ?3)"},
      {&set_meta_, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)"}};
  if (Status status = prepare_all(database_, statements); !status.ok()) return status;
  if (Status status = processes_.prepare(database_); !status.ok()) return status;
  if (Status status = threads_.prepare(database_); !status.ok()) return status;
  if (Status status = devices_.prepare(database_); !status.ok()) return status;
  return strings_.load(database_);
}

Status TraceWriter::Impl::begin() {
  if (!failure_.ok()) return failure_;
  if (forked()) {
    return Status::error(ErrorKind::kUsage, database_.path().string() +
                                                ": a forked child cannot write into its parent's "
                                                "store; open one of its own");
  }
  if (in_transaction_) return {};
  const Status status = begin_.run();
  in_transaction_ = status.ok();
  changes_before_ = sqlite3_total_changes(database_.handle());
  return keep(status);
}

bool TraceWriter::Impl::try_begin(std::chrono::milliseconds patience) {
  if (in_transaction_ || !failure_.ok()) return true;
  database_.set_lock_patience(patience);
  const Status status = begin();
  database_.set_lock_patience(kLockPatience);
  if (status.kind() != ErrorKind::kBusy) return true;
  failure_ = {};
  return false;
}

void TraceWriter::Impl::end_if_unused() {
  if (in_transaction_ && sqlite3_total_changes(database_.handle()) == changes_before_)
    static_cast<void>(commit());  // the next write returns its error
}

Status TraceWriter::Impl::keep(Status status) {
  if (status.ok() || !failure_.ok()) return status;
  failure_ = status;
  // After a full disk SQLite has rolled back already; then this is an error of no interest.
  static_cast<void>(database_.exec("ROLLBACK"));
  in_transaction_ = false;
  return status;
}

Status TraceWriter::Impl::commit() {
  if (!failure_.ok()) return failure_;
  if (!in_transaction_ || forked()) return {};
  if (const std::int64_t merged = strings_.take_merged(); merged > 0) {
    const Status status = keep(insert(Loss{ThreadId::kNone, "name", merged}));
    if (!status.ok()) return status;
  }
  const Status status = keep(commit_.run());
  if (status.ok()) in_transaction_ = false;
  return status;
}

Status TraceWriter::Impl::seal() {
  Status status = database_.exec("PRAGMA journal_mode = DELETE");
  if (status.kind() != ErrorKind::kBusy) return status;
  // A reader has the file open and needs the log. Fold what can be folded; the last reader, or the
  // next process that opens the store, removes the log.
  status = database_.exec("PRAGMA wal_checkpoint(PASSIVE)");
  return status.kind() == ErrorKind::kBusy ? Status() : status;
}

Status TraceWriter::Impl::finish() {
  Status status = recording_ ? set_meta("state", "complete") : failure_;
  if (status.ok()) status = commit();
  if (status.ok()) {
    // Readers may hold the file open for long; do not wait for them here.
    database_.set_lock_patience(std::chrono::milliseconds(100));
    status = seal();
  }
  return status;
}

StringId TraceWriter::Impl::intern(std::string_view text) {
  if (text.empty()) return StringId::kNone;
  if (const StringId known = strings_.find(text); known != StringId::kNone) return known;
  if (!begin().ok()) return StringId::kNone;
  Status status;
  const StringId id = strings_.intern(text, status);
  static_cast<void>(keep(status));  // the next call that returns a Status reports it
  return id;
}

Result<ProcessId> TraceWriter::Impl::add_process(const Process& process) {
  if (Status status = begin(); !status.ok()) return status;
  if (Status status = processes_.add(process); !status.ok()) return keep(status);
  return static_cast<ProcessId>(sqlite3_last_insert_rowid(database_.handle()));
}

Result<ThreadId> TraceWriter::Impl::add_thread(const Thread& thread) {
  if (Status status = begin(); !status.ok()) return status;
  if (Status status = processes_.add(thread); !status.ok()) return keep(status);
  return static_cast<ThreadId>(sqlite3_last_insert_rowid(database_.handle()));
}

Status TraceWriter::Impl::update_thread(ThreadId id, const Thread& thread) {
  if (Status status = begin(); !status.ok()) return status;
  return keep(processes_.update(id, thread));
}

Status TraceWriter::Impl::add_ops(std::span<const Op> ops) {
  if (ops.empty()) return failure_;
  if (Status status = begin(); !status.ok()) return status;
  batch_.ops = ops;
  Status status = insert_ops_.run();
  const bool any_shapes = std::any_of(ops.begin(), ops.end(),
                                      [](const Op& op) { return op.shapes != StringId::kNone; });
  if (status.ok() && any_shapes) {
    const std::int64_t last = sqlite3_last_insert_rowid(database_.handle());
    status = insert_shapes_.run(last - static_cast<std::int64_t>(ops.size()) + 1);
  }
  batch_.ops = {};
  return keep(status);
}

template <typename Row>
Status TraceWriter::Impl::add(std::span<const Row> rows) {
  if (rows.empty()) return failure_;
  if (Status status = begin(); !status.ok()) return status;
  for (const Row& row : rows) {
    if (Status status = insert(row); !status.ok()) return keep(status);
  }
  return {};
}

Status TraceWriter::Impl::insert(const Phase& phase) {
  return insert_phase_.run(static_cast<std::int64_t>(phase.thread),
                           static_cast<std::int64_t>(phase.kind), nullable(phase.name),
                           to_ns(phase.start), to_ns(phase.dur), to_ns(phase.cpu));
}

Status TraceWriter::Impl::insert(const Loss& loss) {
  const NullableInteger thread = nullable(loss.thread);
  // A misbehaving program may report any count, and a sum that overflows would end the recording.
  const std::int64_t count = std::clamp<std::int64_t>(loss.count, 0, kMaxLost);
  const Status status = update_loss_.run(thread, std::string_view(loss.kind), count, kMaxLost);
  if (!status.ok() || sqlite3_changes(database_.handle()) > 0) return status;
  return insert_loss_.run(thread, std::string_view(loss.kind), count);
}

template <typename Row>
Status TraceWriter::Impl::insert(const Row& row) {
  if constexpr (requires { processes_.add(row); }) {
    return processes_.add(row);
  } else if constexpr (requires { threads_.add(row); }) {
    return threads_.add(row);
  } else {
    return devices_.add(row);
  }
}

Result<WatchedThreadId> TraceWriter::Impl::add_watched_thread(const WatchedThread& thread) {
  if (Status status = add(std::span(&thread, 1)); !status.ok()) return status;
  return static_cast<WatchedThreadId>(sqlite3_last_insert_rowid(database_.handle()));
}

Result<DeviceId> TraceWriter::Impl::add_device(const Device& device) {
  if (Status status = add(std::span(&device, 1)); !status.ok()) return status;
  return static_cast<DeviceId>(sqlite3_last_insert_rowid(database_.handle()));
}

Status TraceWriter::Impl::update_device(DeviceId id, const Device& device) {
  if (Status status = begin(); !status.ok()) return status;
  return keep(devices_.update(id, device));
}

Result<StreamId> TraceWriter::Impl::add_stream(const Stream& stream) {
  if (Status status = add(std::span(&stream, 1)); !status.ok()) return status;
  return static_cast<StreamId>(sqlite3_last_insert_rowid(database_.handle()));
}

Status TraceWriter::Impl::set_meta(std::string_view key, std::string_view value) {
  if (Status status = begin(); !status.ok()) return status;
  const std::string clean = clean_utf8(value);
  return keep(set_meta_.run(key, std::string_view(clean)));
}

Status TraceWriter::Impl::set_last_meta(std::string_view key, std::string_view value) {
  database_.set_lock_patience(std::chrono::milliseconds(0));
  const Status status = set_meta_.run(key, std::string_view(clean_utf8(value)));
  database_.set_lock_patience(kLockPatience);
  return status;
}

Status TraceWriter::Impl::replace_analysis(const Analysis& analysis) {
  if (Status status = begin(); !status.ok()) return status;
  if (Status status = keep(write_analysis(database_, analysis)); !status.ok()) return status;
  return commit();
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TraceWriter::~TraceWriter() {
  // A forked child's copy belongs to the parent: not even its locks and files may be released.
  if (impl_ != nullptr && impl_->forked()) static_cast<void>(impl_.release());
  if (impl_ != nullptr) static_cast<void>(contained([this] { return finish(); }));
}

void TraceWriter::install_fork_handlers() { StoreFile::install_fork_handlers(); }

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::filesystem::path& path,
                                                         ExistingStore existing) {
  const Result<std::string> content = empty_store(path);
  if (!content.ok()) return content.status();
  Result<StoreFile> file = claim_path(path, existing, *content);
  if (!file.ok()) return file.status();
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status();
  if (Status status = database->exec(kLogged); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(*std::move(file), *std::move(database), true);
  if (Status status = impl->prepare(); !status.ok()) return status;
  // Again, now that SQLite has opened them: another user may have been quicker.
  if (Status status = check_owner_of_side_files(path); !status.ok()) return status;
  std::unique_ptr<TraceWriter> writer(new TraceWriter(std::move(impl)));
  writer->impl_->keep_file();
  return writer;
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::open(const std::filesystem::path& path) {
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  if (Status status = file->check_is_store(); !status.ok()) return status;
  if (file->locked(StoreLock::kRecording)) return file->lock(StoreLock::kRecording);
  if (Status status = file->lock(StoreLock::kWriting); !status.ok()) return status;
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status();
  const Result<int> version = schema_version(*database);
  if (!version.ok()) return version.status();
  Status checked = check_table_kinds(*database, kSchemaSql);
  if (checked.ok()) {
    checked = migrate(*database, *version, kSchemaVersion, known_migrations(),
                      [](Database& migrated) { return check_schema(migrated, kSchemaSql); });
  }
  if (!checked.ok()) return checked;
  auto impl = std::make_unique<Impl>(*std::move(file), *std::move(database), false);
  if (Status status = impl->prepare(); !status.ok()) return status;
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(impl)));
}

StringId TraceWriter::intern(std::string_view text) { return impl_->intern(text); }
Result<ProcessId> TraceWriter::add_process(const Process& process) {
  return impl_->add_process(process);
}
Result<ThreadId> TraceWriter::add_thread(const Thread& thread) { return impl_->add_thread(thread); }
Status TraceWriter::update_thread(ThreadId id, const Thread& thread) {
  return impl_->update_thread(id, thread);
}
Result<WatchedThreadId> TraceWriter::add_watched_thread(const WatchedThread& thread) {
  return impl_->add_watched_thread(thread);
}
Result<DeviceId> TraceWriter::add_device(const Device& device) { return impl_->add_device(device); }
Status TraceWriter::update_device(DeviceId id, const Device& device) {
  return impl_->update_device(id, device);
}
Result<StreamId> TraceWriter::add_stream(const Stream& stream) { return impl_->add_stream(stream); }
Status TraceWriter::set_meta(std::string_view key, std::string_view value) {
  return impl_->set_meta(key, value);
}
Status TraceWriter::replace_analysis(const Analysis& analysis) {
  return impl_->replace_analysis(analysis);
}
Status TraceWriter::flush() { return impl_->commit(); }
bool TraceWriter::try_begin(std::chrono::milliseconds patience) {
  return impl_->try_begin(patience);
}
void TraceWriter::end_if_unused() { impl_->end_if_unused(); }

void TraceWriter::stop_writing(Status why) {
  if (impl_ != nullptr) static_cast<void>(impl_->keep(std::move(why)));
}

Status TraceWriter::set_last_meta(std::string_view key, std::string_view value) {
  if (impl_ == nullptr) return Status::error(ErrorKind::kUsage, "the store has been closed");
  return impl_->set_last_meta(key, value);
}

void TraceWriter::discard() {
  impl_->discard_file();
  impl_.reset();
}

Status TraceWriter::finish() {
  const Status status = impl_->finish();
  impl_.reset();
  return status;
}

template <StoredRow Row>
Status TraceWriter::add_rows(std::span<const Row> rows) {
  if constexpr (std::is_same_v<Row, Op>) {
    return impl_->add_ops(rows);
  } else {
    return impl_->add(rows);
  }
}

template Status TraceWriter::add_rows(std::span<const Op> rows);
template Status TraceWriter::add_rows(std::span<const Phase> rows);
template Status TraceWriter::add_rows(std::span<const ProcessEnd> rows);
template Status TraceWriter::add_rows(std::span<const UnfinishedOp> rows);
template Status TraceWriter::add_rows(std::span<const Sample> rows);
template Status TraceWriter::add_rows(std::span<const ThreadStretch> rows);
template Status TraceWriter::add_rows(std::span<const ThreadReading> rows);
template Status TraceWriter::add_rows(std::span<const StackFrame> rows);
template Status TraceWriter::add_rows(std::span<const StackSample> rows);
template Status TraceWriter::add_rows(std::span<const NativeSample> rows);
template Status TraceWriter::add_rows(std::span<const ModuleCall> rows);
template Status TraceWriter::add_rows(std::span<const ApiCall> rows);
template Status TraceWriter::add_rows(std::span<const Kernel> rows);
template Status TraceWriter::add_rows(std::span<const Copy> rows);
template Status TraceWriter::add_rows(std::span<const Memset> rows);
template Status TraceWriter::add_rows(std::span<const Sync> rows);
template Status TraceWriter::add_rows(std::span<const Loss> rows);

}  // namespace stepscope
