// Visits the rows of a query, and converts absent values to NULL. Internal to store/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

using NullableInteger = std::optional<std::int64_t>;

inline NullableInteger unless(std::int64_t value, std::int64_t none) {
  return value == none ? NullableInteger() : NullableInteger(value);
}

// NULL for 0, which means "none" for ids and "unknown" for most other values.
template <typename Number>
NullableInteger nullable(Number value) {
  return unless(static_cast<std::int64_t>(value), 0);
}

// Runs `sql` and calls `visit(const Statement&)` for each row. If `visit` returns a Status, the
// first that is not ok ends the scan and is returned.
template <typename Visit>
Status for_each_row(Database& database, std::string_view sql, const Visit& visit) {
  Result<Statement> rows = database.prepare(sql);
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    if constexpr (std::is_void_v<decltype(visit(*rows))>) {
      visit(*rows);
    } else if (Status status = visit(*rows); !status.ok()) {
      return status;
    }
  }
}

}  // namespace stepscope
