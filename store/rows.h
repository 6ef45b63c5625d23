// The rows of a query, one call each. Internal to store/.
#pragma once

#include <string_view>

#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Runs `sql` and gives each row to `visit(const Statement&)`.
template <typename Visit>
Status for_each_row(Database& database, std::string_view sql, const Visit& visit) {
  Result<Statement> rows = database.prepare(sql);
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    visit(*rows);
  }
}

}  // namespace stepscope
