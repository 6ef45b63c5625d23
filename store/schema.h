// The schema of a store and what marks a SQLite file as one. Told in docs/schema.md.
#pragma once

#include <cstdint>

namespace stepscope {

// PRAGMA user_version and meta 'schema_version'. A change of the schema raises it and adds the step
// from the version before to kMigrations (store/migration.cc).
inline constexpr int kSchemaVersion = 5;

// PRAGMA application_id, "STSC": tells a store from any other SQLite file, also for file(1).
inline constexpr std::int32_t kApplicationId = 0x53545343;

extern const char kSchemaSql[];  // schema.sql as it stands

// The same of a sweep, which is no recording: "STSW".
inline constexpr int kSweepSchemaVersion = 2;
inline constexpr std::int32_t kSweepApplicationId = 0x53545357;

extern const char kSweepSchemaSql[];  // sweep_schema.sql as it stands

// store/migrations/from_….sql. A migration is never changed after a release: it leads from what was
// to what came next, whatever schema.sql has become since.
extern const char kMigrationFrom1Sql[];
extern const char kMigrationFrom2Sql[];
extern const char kMigrationFrom3Sql[];
extern const char kMigrationFrom4Sql[];

}  // namespace stepscope
