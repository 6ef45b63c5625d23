// The schema of a store, and what identifies a SQLite file as one. docs/schema.md describes it.
#pragma once

#include <cstdint>

namespace stepscope {

// PRAGMA user_version and meta 'schema_version'. A change of the schema increments it and adds the
// step from the previous version to kMigrations (store/migration.cc).
inline constexpr int kSchemaVersion = 5;

// PRAGMA application_id, "STSC": distinguishes a store from any other SQLite file, also for
// file(1).
inline constexpr std::int32_t kApplicationId = 0x53545343;

extern const char kSchemaSql[];  // schema.sql, verbatim

// The same for a sweep, which is not a recording: "STSW".
inline constexpr int kSweepSchemaVersion = 2;
inline constexpr std::int32_t kSweepApplicationId = 0x53545357;

extern const char kSweepSchemaSql[];  // sweep_schema.sql, verbatim

// store/migrations/from_….sql. A migration is never changed after a release: it leads from one
// version to the next, however schema.sql has changed since.
extern const char kMigrationFrom1Sql[];
extern const char kMigrationFrom2Sql[];
extern const char kMigrationFrom3Sql[];
extern const char kMigrationFrom4Sql[];

}  // namespace stepscope
