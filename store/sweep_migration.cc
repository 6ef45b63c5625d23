#include "store/sweep_migration.h"

#include <cstdint>
#include <string>

#include "store/migration.h"
#include "store/schema.h"
#include "store/schema_check.h"

namespace stepscope {

Status bring_sweep_up_to_date(Database& database) {
  static constexpr Migration kSteps[] = {{1, "ALTER TABLE run ADD COLUMN trains INTEGER"}};
  if (Status status = check_table_kinds(database, kSweepSchemaSql); !status.ok()) return status;
  const Result<std::int64_t> version = database.query_int("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version >= 1 && *version <= kSweepSchemaVersion)
    return migrate(database, static_cast<int>(*version), kSweepSchemaVersion, kSteps,
                   [](Database& migrated) { return check_schema(migrated, kSweepSchemaSql); });
  return Status::error(ErrorKind::kBadInput,
                       database.path().string() + ": a sweep of schema version " +
                           std::to_string(*version) + ", but this Stepscope knows only up to " +
                           std::to_string(kSweepSchemaVersion) + "; update Stepscope");
}

}  // namespace stepscope
