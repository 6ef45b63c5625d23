#include "store/read_sweep.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/row_check.h"
#include "store/rows.h"
#include "store/sqlite.h"
#include "store/store_file.h"
#include "store/sweep_migration.h"

namespace stepscope {
namespace {

constexpr std::array<const char*, 5> kOutcomes = {"ok", "out-of-memory", "timed-out", "crashed",
                                                  "no-steps"};

std::optional<double> real_at(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.real(column));
}

// Or nothing.
bool is_whole_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;  // fit an int64
  return text.size() <= kMostDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Status damaged(const Database& database, const std::string& what) {
  return Status::error(ErrorKind::kBadInput,
                       database.path().string() + ": damaged (" + what + "); sweep again");
}

Status read_plan(Database& database, SweepPlan& plan) {
  Status status = for_each_row(database, "SELECT key, value FROM meta", [&](Statement& row) {
    plan.meta.emplace_back(row.text(0), row.text(1));
  });
  if (!status.ok()) return status;
  for (const char* key : {"rounds", "cpu_count", "memory_bytes", "memory_limit_bytes"}) {
    if (!is_whole_number(plan.meta_text(key)))
      return damaged(database, std::string(key) + " is no number");
  }
  status = for_each_row(database, "SELECT name FROM parameter ORDER BY id",
                        [&](Statement& row) { plan.parameters.push_back({row.text(0), {}}); });
  if (!status.ok()) return status;
  if (plan.parameters.size() > kMaxSweepParameters) {
    return damaged(database, "more than " + std::to_string(kMaxSweepParameters) + " parameters");
  }
  return for_each_row(database, "SELECT name, command FROM variant ORDER BY id",
                      [&](Statement& row) { plan.variants.push_back({row.text(0), row.text(1)}); });
}

Status read_cells(Database& database, SweepPlan& plan) {
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> place;  // of a value, by its id
  Status status = for_each_row(
      database, "SELECT id, parameter_id - 1, text, number FROM parameter_value ORDER BY id",
      [&](Statement& row) {
        const auto parameter = static_cast<std::size_t>(row.integer(1));
        if (parameter >= plan.parameters.size()) return damaged(database, "a parameter is missing");
        auto& values = plan.parameters[parameter].values;
        place[row.integer(0)] = {parameter, values.size()};
        values.push_back({row.text(2), real_at(row, 3)});
        return Status();
      });
  if (!status.ok()) return status;
  status = for_each_row(
      database, "SELECT variant_id - 1, command FROM cell ORDER BY id", [&](Statement& row) {
        const auto variant = static_cast<std::size_t>(row.integer(0));
        if (variant >= plan.variants.size()) return damaged(database, "a variant is missing");
        if (plan.cells.size() == kMaxSweepCells) return damaged(database, "too many settings");
        plan.cells.push_back(
            {variant, std::vector<std::size_t>(plan.parameters.size()), row.text(1)});
        return Status();
      });
  if (!status.ok()) return status;
  return for_each_row(database, "SELECT cell_id - 1, value_id FROM cell_value",
                      [&](Statement& row) {
                        const auto cell = static_cast<std::size_t>(row.integer(0));
                        const auto value = place.find(row.integer(1));
                        if (cell >= plan.cells.size() || value == place.end())
                          return damaged(database, "a value is missing");
                        plan.cells[cell].values[value->second.first] = value->second.second;
                        return Status();
                      });
}

SweepOutcome outcome_of(const std::string& name, RowCheck& check) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (name == kOutcomes[i]) return static_cast<SweepOutcome>(i);
  }
  check.fail("ended in an unknown way");
  return SweepOutcome::kCrashed;
}

// A number of at least 0; nullopt for NULL.
std::optional<std::int64_t> amount_or_none(const Statement& row, RowCheck& check, int column) {
  if (row.is_null(column)) return std::nullopt;
  return check.integer(row.value(column), sqlite3_column_name(row.handle(), column), 0,
                       kLargestValue);
}

// The columns are in the order of the table, because its schema has been checked.
SweepRun run_of(const Statement& row, RowCheck& check, std::size_t cells) {
  const auto amount = [&](int column) { return amount_or_none(row, check, column).value_or(0); };
  const auto code = [&](int column) {
    return row.is_null(column) ? std::nullopt
                               : std::optional(check.integer(
                                     row.value(column), sqlite3_column_name(row.handle(), column),
                                     -kLargestNumber, kLargestNumber));
  };
  SweepRun run;
  run.cell = static_cast<std::size_t>(
      check.integer(row.value(1), "cell_id", 1, static_cast<std::int64_t>(cells)) - 1);
  run.round = amount(2);
  run.started_unix_ns = check.integer(row.value(3), "started_unix_ns", 0, kLatestUnixNs);
  run.wall_ns = check.count(row.value(4), "wall_ns");
  run.outcome = outcome_of(row.text(5), check);
  run.cause = row.text(6);
  run.exit_code = code(7);
  run.signal = code(8);
  run.error_tail = row.text(9);
  run.torch_version = row.text(10);
  run.marker = row.text(11);
  run.samples_per_step = real_at(row, 12);
  constexpr double kMostSamples = 1e15;
  if (run.samples_per_step && !(*run.samples_per_step > 0 && *run.samples_per_step <= kMostSamples))
    check.fail("has an impossible number of samples");
  run.input_seen = row.integer(13) != 0;
  run.lost_events = amount(14);
  run.peak_rss_bytes = amount(15);
  run.peak_address_bytes = amount_or_none(row, check, 16);
  run.available_bytes = amount_or_none(row, check, 17);
  run.minor_faults = amount(18);
  run.major_faults = amount(19);
  run.cpu_user_ns = amount(20);
  run.cpu_system_ns = amount(21);
  run.loop_ns = amount_or_none(row, check, 22);
  run.loop_minor_faults = real_at(row, 23);
  run.loop_major_faults = real_at(row, 24);
  run.loop_pressure_ns = real_at(row, 25);
  run.trains = amount_or_none(row, check, 26);
  return run;
}

SweepStep step_of(const Statement& row, RowCheck& check) {
  SweepStep step;
  step.number = check.integer(row.value(1), "number", 0, kLargestValue);
  step.dur_ns = to_ns(check.duration(row.value(2)));
  step.input_ns = amount_or_none(row, check, 3);
  step.steady = row.integer(4) != 0;
  return step;
}

Status read_runs(Database& database, SweepData& data) {
  std::map<std::int64_t, std::size_t> place;
  const KnownIds none;
  RowCheck runs("run", none);
  Status status = for_each_row(database, "SELECT * FROM run ORDER BY id", [&](Statement& row) {
    runs.any_row(row.integer(0));
    place[row.integer(0)] = data.runs.size();
    data.runs.push_back(run_of(row, runs, data.plan.cells.size()));
    return runs.ok() ? Status() : runs.status(database);
  });
  if (!status.ok()) return status;
  RowCheck steps("step of run", none);
  return for_each_row(
      database, "SELECT run_id, number, dur_ns, input_ns, steady FROM step ORDER BY run_id, number",
      [&](Statement& row) {
        const auto run = place.find(row.integer(0));
        if (run == place.end()) return damaged(database, "a run is missing");
        steps.any_row(row.integer(0));
        data.runs[run->second].steps.push_back(step_of(row, steps));
        return steps.ok() ? Status() : steps.status(database);
      });
}

}  // namespace

const char* outcome_name(SweepOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

bool is_sweep(const std::filesystem::path& path) {
  const Result<StoreFile> file = StoreFile::open(path);
  return file.ok() && file->check_is_store(StoreKind::kSweep).ok();
}

Result<SweepData> read_sweep(const std::filesystem::path& path) {
  const Result<StoreFile> file = StoreFile::open(path);
  if (!file.ok()) return file.status();
  if (Status status = file->check_is_store(StoreKind::kSweep); !status.ok()) return status;
  Result<Database> database = Database::open_untrusted(path, SQLITE_OPEN_READWRITE);
  if (!database.ok()) return database.status();
  if (Status status = bring_sweep_up_to_date(*database); !status.ok()) return status;
  // One snapshot, even while the sweep goes on.
  if (Status status = database->exec("PRAGMA query_only = ON; BEGIN"); !status.ok()) return status;
  SweepData data;
  if (Status status = read_plan(*database, data.plan); !status.ok()) return status;
  if (Status status = read_cells(*database, data.plan); !status.ok()) return status;
  if (Status status = read_runs(*database, data); !status.ok()) return status;
  return data;
}

}  // namespace stepscope
