#include "store/trace_reader.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "store/analysis_rows.h"
#include "store/device_rows.h"
#include "store/device_slices.h"
#include "store/migration.h"
#include "store/op_scan.h"
#include "store/process_rows.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store_file.h"
#include "store/trace_writer.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

fs::path log_of(const fs::path& path) { return {path.native() + "-wal"}; }

Result<Database> open_and_look(const fs::path& path, const char* uri_options) {
  // Writable for SQLite itself (it may have to roll back or fold in what a killed writer left),
  // never for a statement.
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE, uri_options);
  if (!database.ok()) return database;
  if (Status status = database->exec("PRAGMA query_only = ON"); !status.ok()) return status;
  // The first look at the file: finds out whether it can be read at all.
  const Result<std::int64_t> look = database->query_int("SELECT count(*) FROM sqlite_schema");
  if (!look.ok()) return look.status();
  return database;
}

// A store that was not finished has a write-ahead log, for which SQLite must make a file beside it.
// Where it cannot, the store can still be read when all of it is in the file.
Result<Database> open_for_reading(const fs::path& path) {
  Result<Database> database = open_and_look(path, "");
  if (database.ok() || database.status().kind() != ErrorKind::kIo) return database;
  std::error_code code;
  const auto log_size = fs::file_size(log_of(path), code);
  if (code || log_size == 0) return open_and_look(path, "immutable=1");
  return Status::error(ErrorKind::kIo,
                       path.string() + ": was not finished, and its folder is not writable; copy " +
                           path.filename().string() + " and " + log_of(path).filename().string() +
                           " to one that is");
}

// SQLite would read zeros where the end of the last page is missing.
Status check_whole(Database& database, const StoreFile& file) {
  std::error_code code;
  if (fs::exists(log_of(database.path()), code)) return {};  // the rest may be in there
  const Result<std::int64_t> pages = database.query_int("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  const Result<std::int64_t> page_size = database.query_int("PRAGMA page_size");
  if (!page_size.ok()) return page_size.status();
  const std::int64_t whole = *pages * *page_size;
  if (file.size() >= whole) return {};
  return Status::error(ErrorKind::kBadInput,
                       database.path().string() + ": cut off, " + std::to_string(file.size()) +
                           " of " + std::to_string(whole) + " bytes are there; copy it again");
}

}  // namespace

class TraceReader::Impl {
 public:
  Impl(StoreFile store_file, Database opened)
      : file(std::move(store_file)), database(std::move(opened)) {}

  Status load();

  StoreFile file;  // before and after SQLite's connection: see StoreFile
  OpScanner ops;   // outlives the connection, which points to it
  Database database;
  std::vector<std::string> strings;  // [id - 1]
  std::vector<StoredProcess> processes;
  std::vector<StoredThread> threads;
  std::vector<StoredDevice> devices;
  std::vector<StoredStream> streams;

 private:
  Status load_strings();
  Status load_processes();
  Status load_threads();
  Status load_devices();
};

Status TraceReader::Impl::load() {
  // The one snapshot of a reader. A store that nobody records into needs none: what was recorded
  // stays as it is, and an open transaction would keep an analysis from being written.
  if (file.locked(StoreLock::kRecording)) {
    if (Status status = database.exec("BEGIN"); !status.ok()) return status;
  }
  if (Status status = ops.attach(database); !status.ok()) return status;
  if (Status status = load_strings(); !status.ok()) return status;
  if (Status status = load_processes(); !status.ok()) return status;
  if (Status status = load_threads(); !status.ok()) return status;
  return load_devices();
}

Status TraceReader::Impl::load_strings() {
  Result<Statement> rows = database.prepare("SELECT id, text FROM string ORDER BY id");
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    if (rows->integer(0) != static_cast<std::int64_t>(strings.size()) + 1) {
      return Status::error(ErrorKind::kBadInput,
                           database.path().string() + ": damaged (a string is missing)");
    }
    strings.push_back(rows->text(1));
  }
}

Status TraceReader::Impl::load_processes() {
  Result<std::vector<StoredProcess>> read = read_processes(database);
  if (!read.ok()) return read.status();
  processes = *std::move(read);
  return {};
}

Status TraceReader::Impl::load_threads() {
  Result<Statement> rows =
      database.prepare("SELECT id, process_id, tid, torch_id, name FROM thread ORDER BY id");
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    threads.push_back({{static_cast<ProcessId>(rows->integer(1)), rows->integer(2),
                        static_cast<std::uint32_t>(rows->integer(3)), rows->text(4)},
                       static_cast<ThreadId>(rows->integer(0))});
  }
}

Status TraceReader::Impl::load_devices() {
  Result<std::vector<StoredDevice>> read = read_devices(database);
  if (!read.ok()) return read.status();
  devices = *std::move(read);
  Result<std::vector<StoredStream>> read_too = read_streams(database);
  if (!read_too.ok()) return read_too.status();
  streams = *std::move(read_too);
  return {};
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open(const fs::path& path) {
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  if (Status status = file->check_is_store(); !status.ok()) return status;
  Result<Database> database = open_for_reading(path);
  if (!database.ok()) return database.status();
  const Result<int> version = schema_version(*database);
  if (!version.ok()) return version.status();
  if (*version < kSchemaVersion) {
    *database = Database();
    Result<std::unique_ptr<TraceWriter>> migrated = TraceWriter::open(path);
    if (!migrated.ok()) return migrated.status();
    if (Status status = (*migrated)->finish(); !status.ok()) return status;
    return open(path);
  }
  if (Status status = check_whole(*database, *file); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(*std::move(file), *std::move(database));
  if (Status status = impl->load(); !status.ok()) return status;
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

std::optional<std::string> TraceReader::meta(std::string_view key) const {
  Result<Statement> row = impl_->database.prepare("SELECT value FROM meta WHERE key = ?1");
  if (!row.ok()) return std::nullopt;
  row->bind(1, key);
  const Result<bool> there = row->next();
  if (!there.ok() || !*there) return std::nullopt;
  return row->text(0);
}

std::int64_t TraceReader::meta_int(std::string_view key, std::int64_t otherwise) const {
  const std::optional<std::string> text = meta(key);
  if (!text) return otherwise;
  std::int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  return error == std::errc() && rest == end ? value : otherwise;
}

bool TraceReader::being_recorded() const { return impl_->file.locked(StoreLock::kRecording); }

std::string_view TraceReader::text(StringId id) const {
  const auto at = static_cast<std::size_t>(id);
  return at >= 1 && at <= impl_->strings.size() ? impl_->strings[at - 1] : std::string_view();
}

std::size_t TraceReader::string_count() const { return impl_->strings.size(); }
const std::vector<StoredProcess>& TraceReader::processes() const { return impl_->processes; }
const std::vector<StoredThread>& TraceReader::threads() const { return impl_->threads; }
const std::vector<StoredDevice>& TraceReader::devices() const { return impl_->devices; }
const std::vector<StoredStream>& TraceReader::streams() const { return impl_->streams; }

Result<std::vector<Phase>> TraceReader::phases() const {
  // Of equals the one that ended last is the parent; marks without a length follow one another.
  Result<Statement> rows = impl_->database.prepare(
      "SELECT thread_id, kind, name_id, start_ns, dur_ns, cpu_ns FROM phase"
      " ORDER BY thread_id, start_ns, dur_ns DESC, iif(dur_ns > 0, -id, id)");
  if (!rows.ok()) return rows.status();
  std::vector<Phase> phases;
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return phases;
    phases.push_back({static_cast<ThreadId>(rows->integer(0)),
                      static_cast<PhaseKind>(rows->integer(1)),
                      static_cast<StringId>(rows->integer(2)), session_time(rows->integer(3)),
                      Duration(rows->integer(4)), Duration(rows->integer(5))});
  }
}

Result<std::vector<Loss>> TraceReader::losses() const {
  Result<Statement> rows =
      impl_->database.prepare("SELECT thread_id, kind, count FROM loss ORDER BY rowid");
  if (!rows.ok()) return rows.status();
  std::vector<Loss> losses;
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return losses;
    losses.push_back({static_cast<ThreadId>(rows->integer(0)), rows->text(1), rows->integer(2)});
  }
}

Result<std::vector<ProcessEnd>> TraceReader::process_ends() const {
  return read_process_ends(impl_->database);
}

Result<std::vector<UnfinishedOp>> TraceReader::unfinished_ops() const {
  return read_unfinished_ops(impl_->database);
}

Status TraceReader::for_each_sample(const std::function<bool(const Sample&)>& visit) const {
  return scan_samples(impl_->database, visit);
}

Result<std::int64_t> TraceReader::op_count() const {
  // Ids count from 1 without gaps; count(*) would read every page.
  return impl_->database.query_int("SELECT coalesce(max(id), 0) FROM op");
}

Status TraceReader::for_each_op(const std::function<bool(const Op&)>& visit) const {
  return impl_->ops.scan(impl_->database, visit);
}

Status TraceReader::for_each_api_call(const std::function<void(const ApiCall&)>& visit) const {
  return scan(impl_->database, visit);
}
Status TraceReader::for_each_kernel(const std::function<void(const Kernel&)>& visit) const {
  return scan(impl_->database, visit);
}
Status TraceReader::for_each_copy(const std::function<void(const Copy&)>& visit) const {
  return scan(impl_->database, visit);
}
Status TraceReader::for_each_memset(const std::function<void(const Memset&)>& visit) const {
  return scan(impl_->database, visit);
}
Status TraceReader::for_each_sync(const std::function<void(const Sync&)>& visit) const {
  return scan(impl_->database, visit);
}

Status TraceReader::for_each_slice_by_start(
    const std::function<bool(const DeviceSlice&)>& visit) const {
  return scan_by_start(impl_->database, visit);
}
Status TraceReader::for_each_call_by_start(const std::function<bool(const ApiCall&)>& visit) const {
  return scan_by_start(impl_->database, visit);
}

Result<Analysis> TraceReader::analysis() const { return read_analysis(impl_->database); }

}  // namespace stepscope
