#include "store/store_tables.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "store/device_rows.h"
#include "store/migration.h"
#include "store/process_rows.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/schema_check.h"
#include "store/string_table.h"
#include "store/trace_writer.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

fs::path log_of(const fs::path& path) { return {path.native() + "-wal"}; }

Result<Database> open_and_look(const fs::path& path, const char* uri_options) {
  // Writable for SQLite itself (it may have to roll back or fold in what a killed writer left),
  // never for a statement.
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READWRITE, uri_options);
  if (!database.ok()) return database;
  if (Status status = database->exec("PRAGMA query_only = ON"); !status.ok()) return status;
  // The first access to the file, which shows whether it can be read at all.
  const Result<std::int64_t> look = database->query_int("SELECT count(*) FROM sqlite_schema");
  if (!look.ok()) return look.status();
  return database;
}

// An unfinished store has a write-ahead log, for which SQLite must create a file next to it. If it
// cannot, the store can still be read if all of it is in the main file.
Result<Database> open_for_reading(const fs::path& path) {
  Result<Database> database = open_and_look(path, "");
  if (database.ok() || database.status().kind() != ErrorKind::kIo) return database;
  std::error_code code;
  const auto log_size = fs::file_size(log_of(path), code);
  if (code || log_size == 0) return open_and_look(path, "immutable=1");
  return Status::error(ErrorKind::kIo,
                       path.string() + ": is unfinished, and its folder is not writable; copy " +
                           path.filename().string() + " and " + log_of(path).filename().string() +
                           " to a writable folder");
}

}  // namespace

Result<std::unique_ptr<StoreTables>> StoreTables::open(const fs::path& path) {
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
  if (Status status = database->check_whole(); !status.ok()) return status;
  if (Status status = check_schema(*database, kSchemaSql); !status.ok()) return status;
  std::unique_ptr<StoreTables> tables(new StoreTables(*std::move(file), *std::move(database)));
  if (Status status = tables->ops.attach(tables->database); !status.ok()) return status;
  return tables;
}

Status StoreTables::load() {
  const Status loaded = load_strings(database, strings);
  if (!loaded.ok()) return loaded;
  known_.strings = static_cast<std::int64_t>(strings.size());
  auto read = read_processes(database);
  if (!read.ok()) return read.status();
  processes = *std::move(read);
  known_.processes = static_cast<std::int64_t>(processes.size());
  auto read_next = read_threads(database, known_);
  if (!read_next.ok()) return read_next.status();
  threads = *std::move(read_next);
  known_.threads = static_cast<std::int64_t>(threads.size());
  auto read_too = read_devices(database, known_);
  if (!read_too.ok()) return read_too.status();
  devices = *std::move(read_too);
  known_.devices = static_cast<std::int64_t>(devices.size());
  auto read_last = read_streams(database, known_);
  if (!read_last.ok()) return read_last.status();
  streams = *std::move(read_last);
  known_.streams = static_cast<std::int64_t>(streams.size());
  return check_facts();
}

// Checks the numbers in meta that the analysis computes with.
Status StoreTables::check_facts() {
  struct Fact {
    const char* key;
    std::int64_t most;
  };
  constexpr Fact kFacts[] = {{"end_ns", kFarthestNs},
                             {"leaf_op_overhead_ns", kFarthestNs},
                             {"cpu_count", kMaxEntities},
                             {"step_count", kMaxInAll},
                             {"wall_start_unix_ns", kLatestUnixNs}};
  for (const Fact& fact : kFacts) {
    const std::int64_t value = meta_int(fact.key, 0);
    if (value >= 0 && value <= fact.most) continue;
    return Status::error(ErrorKind::kBadInput, database.path().string() + ": damaged (meta has " +
                                                   fact.key + " " + std::to_string(value) +
                                                   ", which is out of range); record again");
  }
  return {};
}

Result<std::int64_t> StoreTables::op_count() {
  // count(*) would read every page.
  const auto last = database.query_int("SELECT coalesce(max(id), 0) FROM op");
  if (!last.ok()) return last.status();
  const auto pages = database.query_int("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  const auto page_size = database.query_int("PRAGMA page_size");
  if (!page_size.ok()) return page_size.status();
  if (*last >= 0 && *last <= *pages * *page_size) return last;
  return Status::error(ErrorKind::kBadInput,
                       database.path().string() + ": damaged (op " + std::to_string(*last) +
                           ", but the file has no room for that many); record again");
}

std::optional<std::string> StoreTables::meta(std::string_view key) {
  Result<Statement> row = database.prepare("SELECT value FROM meta WHERE key = ?1");
  if (!row.ok()) return std::nullopt;
  row->bind(1, key);
  const Result<bool> there = row->next();
  if (!there.ok() || !*there) return std::nullopt;
  return row->text(0);
}

std::int64_t StoreTables::meta_int(std::string_view key, std::int64_t otherwise) {
  const std::optional<std::string> text = meta(key);
  if (!text) return otherwise;
  std::int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  return error == std::errc() && rest == end ? value : otherwise;
}

std::string_view StoreTables::text(StringId id) const {
  const auto at = static_cast<std::size_t>(id);
  return at >= 1 && at <= strings.size() ? strings[at - 1] : std::string_view();
}

Phase phase_of(const Statement& row, RowCheck& check) {
  Phase phase;
  phase.thread = check.thread(row.value(0));
  phase.kind = check.kind(row.value(1), "kind", PhaseKind::kLost);
  phase.name = check.string(row.value(2));
  phase.start = check.time(row.value(3));
  phase.dur = check.duration(row.value(4));
  phase.cpu = Duration(check.count(row.value(5), "cpu_ns"));
  return phase;
}

Status scan_phases(Database& database, const KnownIds& known, std::int64_t after, std::int64_t most,
                   const std::function<void(const Phase&)>& visit) {
  RowCheck check("phase", known, after);
  return for_each_row(database,
                      "SELECT thread_id, kind, name_id, start_ns, dur_ns, cpu_ns, id FROM phase"
                      " WHERE id > " +
                          std::to_string(after) + " ORDER BY id LIMIT " + std::to_string(most),
                      [&](const Statement& row) {
                        check.next_row(row.integer(6));
                        const Phase phase = phase_of(row, check);
                        if (!check.ok()) return check.status(database);
                        visit(phase);
                        return Status();
                      });
}

Result<std::vector<Loss>> read_losses(Database& database, const KnownIds& known) {
  std::vector<Loss> losses;
  RowCheck check("loss", known);
  const Status status =
      for_each_row(database, "SELECT thread_id, kind, count, rowid FROM loss ORDER BY rowid",
                   [&](const Statement& row) {
                     check.any_row(row.integer(3));
                     losses.push_back({check.thread_or_none(row.value(0)), row.text(1),
                                       check.count(row.value(2), "count")});
                     return check.ok() ? Status() : check.status(database);
                   });
  if (!status.ok()) return status;
  return losses;
}

}  // namespace stepscope
