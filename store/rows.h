// The rows of a query, one call each, and what is NULL in a row. Internal to store/.
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

// NULL for 0, which is "none" of ids and "unknown" of most else.
template <typename Number>
NullableInteger nullable(Number value) {
  return unless(static_cast<std::int64_t>(value), 0);
}

// Runs `sql` and gives each row to `visit(const Statement&)`. One that returns a Status ends it
// with the first that is not ok.
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
