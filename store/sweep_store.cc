#include "store/sweep_store.h"

#include <string>
#include <string_view>
#include <utility>

#include "store/database_file.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store_file.h"
#include "store/store_path.h"
#include "store/sweep_migration.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

// A run takes seconds to minutes to measure, so its commit waits for the disk, and waits long for a
// reader.
constexpr int kPatienceMs = 60'000;

constexpr char kInsertRun[] =
    "INSERT INTO run VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
    "?15,"
    " ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)";

std::int64_t row_of(std::size_t index) { return static_cast<std::int64_t>(index) + 1; }

Status write_meta(Database& database, const SweepMeta& meta) {
  Result<Statement> insert = database.prepare("INSERT OR REPLACE INTO meta VALUES (?1, ?2)");
  if (!insert.ok()) return insert.status();
  for (const auto& [key, value] : meta) {
    const std::string clean = clean_utf8(value);
    if (Status status = insert->run(std::string_view(key), std::string_view(clean)); !status.ok())
      return status;
  }
  return {};
}

// The id of each parameter's first value; those of the others follow.
using FirstValues = std::vector<std::int64_t>;

Result<FirstValues> write_parameters(Database& database, const SweepPlan& plan) {
  Result<Statement> parameter = database.prepare("INSERT INTO parameter VALUES (?1, ?2)");
  if (!parameter.ok()) return parameter.status();
  Result<Statement> value = database.prepare("INSERT INTO parameter_value VALUES (?1, ?2, ?3, ?4)");
  if (!value.ok()) return value.status();
  FirstValues first;
  std::int64_t next = 1;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& wanted = plan.parameters[i];
    Status status = parameter->run(row_of(i), std::string_view(wanted.name));
    first.push_back(next);
    for (const SweepValue& v : wanted.values) {
      if (status.ok()) status = value->run(next++, row_of(i), std::string_view(v.text), v.number);
    }
    if (!status.ok()) return status;
  }
  return first;
}

Status write_variants(Database& database, const SweepPlan& plan) {
  Result<Statement> insert = database.prepare("INSERT INTO variant VALUES (?1, ?2, ?3)");
  if (!insert.ok()) return insert.status();
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const SweepVariant& variant = plan.variants[i];
    const Status status =
        insert->run(row_of(i), std::string_view(variant.name), std::string_view(variant.command));
    if (!status.ok()) return status;
  }
  return {};
}

Status write_cells(Database& database, const SweepPlan& plan, const FirstValues& first) {
  Result<Statement> cell = database.prepare("INSERT INTO cell VALUES (?1, ?2, ?3)");
  if (!cell.ok()) return cell.status();
  Result<Statement> value = database.prepare("INSERT INTO cell_value VALUES (?1, ?2)");
  if (!value.ok()) return value.status();
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const SweepCell& wanted = plan.cells[i];
    Status status = cell->run(row_of(i), row_of(wanted.variant), std::string_view(wanted.command));
    for (std::size_t k = 0; k < wanted.values.size() && status.ok(); ++k) {
      status = value->run(row_of(i), first[k] + static_cast<std::int64_t>(wanted.values[k]));
    }
    if (!status.ok()) return status;
  }
  return {};
}

Status write_plan(Database& database, const SweepPlan& plan) {
  const SweepMeta own = {{"schema_version", std::to_string(kSweepSchemaVersion)},
                         {"stepscope_version", STEPSCOPE_VERSION}};
  if (Status status = write_meta(database, own); !status.ok()) return status;
  if (Status status = write_meta(database, plan.meta); !status.ok()) return status;
  const auto first = write_parameters(database, plan);
  if (!first.ok()) return first.status();
  if (Status status = write_variants(database, plan); !status.ok()) return status;
  return write_cells(database, plan, *first);
}

// The bytes of a new sweep, built in memory: a process that is killed meanwhile leaves nothing at
// its path.
Result<std::string> new_sweep(const std::filesystem::path& path, const SweepPlan& plan) {
  Result<Database> database = Database::in_memory(path);
  if (!database.ok()) return database.status();
  const std::string sql = std::string("BEGIN;") + kSweepSchemaSql +
                          "PRAGMA application_id = " + std::to_string(kSweepApplicationId) +
                          "; PRAGMA user_version = " + std::to_string(kSweepSchemaVersion) + ";";
  if (Status status = database->exec(sql.c_str()); !status.ok()) return status;
  if (Status status = write_plan(*database, plan); !status.ok()) return status;
  if (Status status = database->exec("COMMIT"); !status.ok()) return status;
  return database->image();
}

}  // namespace

class SweepWriter::Impl {
 public:
  Impl(StoreFile file, Database database)
      : file_(std::move(file)), database_(std::move(database)) {}

  Status prepare() {
    sqlite3_busy_timeout(database_.handle(), kPatienceMs);
    return database_.exec("PRAGMA synchronous = FULL");
  }
  void keep_file() { file_.keep(); }
  Database& database() { return database_; }
  Status in_transaction(const Status& begun, const Status& done) {
    if (!begun.ok()) return begun;
    Status status = done.ok() ? database_.exec("COMMIT") : done;
    // If the disk was full, SQLite has rolled back already, and the error of this ROLLBACK does not
    // matter.
    if (!status.ok()) static_cast<void>(database_.exec("ROLLBACK"));
    return status;
  }
  Status insert(const SweepRun& run);

 private:
  StoreFile file_;  // opened before and closed after SQLite's connection: see StoreFile
  Database database_;
};

Status SweepWriter::Impl::insert(const SweepRun& run) {
  Result<Statement> insert_run = database_.prepare(kInsertRun);
  if (!insert_run.ok()) return insert_run.status();
  const std::string tail = clean_utf8(run.error_tail), cause = clean_utf8(run.cause);
  Status status = insert_run->run(
      row_of(run.cell), run.round, run.started_unix_ns, run.wall_ns,
      std::string_view(outcome_name(run.outcome)), std::string_view(cause), run.exit_code,
      run.signal, std::string_view(tail), std::string_view(run.torch_version),
      std::string_view(run.marker), run.samples_per_step, std::int64_t{run.input_seen},
      run.lost_events, run.peak_rss_bytes, run.peak_address_bytes, run.available_bytes,
      run.minor_faults, run.major_faults, run.cpu_user_ns, run.cpu_system_ns, run.loop_ns,
      run.loop_minor_faults, run.loop_major_faults, run.loop_pressure_ns, run.trains);
  if (!status.ok()) return status;
  const std::int64_t id = sqlite3_last_insert_rowid(database_.handle());
  Result<Statement> insert_step = database_.prepare("INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5)");
  if (!insert_step.ok()) return insert_step.status();
  for (const SweepStep& step : run.steps) {
    status =
        insert_step->run(id, step.number, step.dur_ns, step.input_ns, std::int64_t{step.steady});
    if (!status.ok()) return status;
  }
  return {};
}

SweepWriter::SweepWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SweepWriter::~SweepWriter() = default;

Result<std::unique_ptr<SweepWriter>> SweepWriter::create(const std::filesystem::path& path,
                                                         const SweepPlan& plan) {
  const Result<std::string> content = new_sweep(path, plan);
  if (!content.ok()) return content.status();
  Result<StoreFile> file = claim_path(path, ExistingStore::kKeepAsOld, *content, StoreKind::kSweep);
  if (!file.ok()) return file.status();
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status();
  auto impl = std::make_unique<Impl>(*std::move(file), *std::move(database));
  if (Status status = impl->prepare(); !status.ok()) return status;
  // Again, now that SQLite has opened them: another user may have been quicker.
  if (Status status = check_owner_of_side_files(path); !status.ok()) return status;
  std::unique_ptr<SweepWriter> writer(new SweepWriter(std::move(impl)));
  writer->impl_->keep_file();
  return writer;
}

Result<std::unique_ptr<SweepWriter>> SweepWriter::open(const std::filesystem::path& path) {
  Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  if (Status status = file->check_is_store(StoreKind::kSweep); !status.ok()) return status;
  if (Status status = file->lock(StoreLock::kWriting); !status.ok()) return status;
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status();
  if (Status status = bring_sweep_up_to_date(*database); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(*std::move(file), *std::move(database));
  if (Status status = impl->prepare(); !status.ok()) return status;
  return std::unique_ptr<SweepWriter>(new SweepWriter(std::move(impl)));
}

Status SweepWriter::add_run(const SweepRun& run) {
  const Status begun = impl_->database().exec("BEGIN IMMEDIATE");
  return impl_->in_transaction(begun, begun.ok() ? impl_->insert(run) : begun);
}

Result<std::int64_t> SweepWriter::forget_failed_runs() {
  Database& database = impl_->database();
  const auto failed = database.query_int("SELECT count(*) FROM run WHERE outcome != 'ok'");
  if (!failed.ok()) return failed.status();
  const Status begun = database.exec("BEGIN IMMEDIATE");
  const Status done = impl_->in_transaction(
      begun, begun.ok() ? database.exec("DELETE FROM step WHERE run_id IN"
                                        " (SELECT id FROM run WHERE outcome != 'ok');"
                                        "DELETE FROM run WHERE outcome != 'ok'")
                        : begun);
  if (!done.ok()) return done;
  return *failed;
}

Status SweepWriter::set_meta(const std::string& key, const std::string& value) {
  return write_meta(impl_->database(), {{key, value}});
}

}  // namespace stepscope
