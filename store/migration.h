// Brings a store of an older schema up to date. Internal to store/.
#pragma once

#include <functional>
#include <span>

#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Takes a store from version `from` to `from + 1`.
struct Migration {
  int from;
  const char* sql;
};

// The steps that this version of Stepscope knows, oldest first.
std::span<const Migration> known_migrations();

// Runs the steps from `from` up to `target` in one transaction: all of them or none. kBadInput if a
// step is missing; the store then stays as it was. `check` examines the result, even if there was
// nothing to do; if it fails, the store stays as it was, too.
Status migrate(Database& database, int from, int target, std::span<const Migration> steps,
               const std::function<Status(Database&)>& check = nullptr);

// The store's schema version. kBadInput for a version newer than kSchemaVersion, or none at all.
Result<int> schema_version(Database& database);

}  // namespace stepscope
