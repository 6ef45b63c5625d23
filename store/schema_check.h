// Whether a file's tables are what they are called. SQLite opens any file, and in one that was made
// to do harm a table's name may stand for a view that never ends, or a trigger may run at each
// insert. Internal to store/.
#pragma once

#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// kBadInput where a table that `schema_sql` makes is absent in `database`, is no plain table or has
// other columns, or where there is a trigger or a virtual table. Tables, views and indexes beside
// those of the schema are nobody's business.
Status check_schema(Database& database, const char* schema_sql);

// Before a migration, when a store is yet to become what `schema_sql` says: that nothing but plain
// tables stands under the names of its tables, and that there is no trigger and no virtual table.
Status check_table_kinds(Database& database, const char* schema_sql);

}  // namespace stepscope
