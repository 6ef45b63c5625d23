// Checks that a file's tables really are tables. SQLite opens any file, and in a malicious one the
// name of a table may belong to a view that never ends, or a trigger may run at each insert.
// Internal to store/.
#pragma once

#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// kBadInput if a table that `schema_sql` creates is missing from `database`, is not a plain table
// or has other columns, or if there is a trigger or a virtual table. Further tables, views and
// indexes are allowed.
Status check_schema(Database& database, const char* schema_sql);

// For a store that has yet to be migrated to `schema_sql`: checks that the names of its tables
// belong to plain tables only, and that there is no trigger and no virtual table.
Status check_table_kinds(Database& database, const char* schema_sql);

}  // namespace stepscope
