#include "store/migration.h"

#include <algorithm>
#include <string>

#include "store/schema.h"

namespace stepscope {
namespace {

Status refuse(const Database& database, const std::string& what) {
  return Status::error(ErrorKind::kBadInput, database.path().string() + ": " + what);
}

Status run_steps(Database& database, int from, int target, std::span<const Migration> steps) {
  for (int version = from; version < target; ++version) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const Migration& m) { return m.from == version; });
    if (step == steps.end()) {
      return refuse(database, "schema version " + std::to_string(version) +
                                  " is too old for this Stepscope; use an earlier Stepscope");
    }
    const Status status = database.exec(step->sql);
    if (status.ok()) continue;
    if ((sqlite3_errcode(database.handle()) & 0xFF) == SQLITE_ERROR) {
      return refuse(database, "damaged (its tables are not those of schema version " +
                                  std::to_string(version) + ": " +
                                  sqlite3_errmsg(database.handle()) +
                                  "); use another copy or record again");
    }
    return status;
  }
  const std::string version = std::to_string(target);
  return database.exec(("PRAGMA user_version = " + version + "; UPDATE meta SET value = '" +
                        version + "' WHERE key = 'schema_version'")
                           .c_str());
}

}  // namespace

std::span<const Migration> known_migrations() {
  static constexpr Migration kMigrations[] = {{1, kMigrationFrom1Sql},
                                              {2, kMigrationFrom2Sql},
                                              {3, kMigrationFrom3Sql},
                                              {4, kMigrationFrom4Sql}};
  return kMigrations;
}

Status migrate(Database& database, int from, int target, std::span<const Migration> steps,
               const std::function<Status(Database&)>& check) {
  if (from == target) return check ? check(database) : Status();
  if (Status status = database.exec("BEGIN IMMEDIATE"); !status.ok()) return status;
  Status status = run_steps(database, from, target, steps);
  if (status.ok() && check) status = check(database);
  if (status.ok()) status = database.exec("COMMIT");
  if (!status.ok()) static_cast<void>(database.exec("ROLLBACK"));  // report the first error
  return status;
}

Result<int> schema_version(Database& database) {
  const Result<std::int64_t> version = database.query_int("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kSchemaVersion) {
    return refuse(database, "has schema version " + std::to_string(*version) +
                                ", but this Stepscope knows only up to " +
                                std::to_string(kSchemaVersion) + "; update Stepscope");
  }
  if (*version < 1)
    return refuse(database, "has no schema, because its creation was interrupted; remove it");
  return static_cast<int>(*version);
}

}  // namespace stepscope
