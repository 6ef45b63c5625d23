// Prepares the statements of a writer, and reads whole tables. Internal to store/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "store/row_check.h"
#include "store/rows.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

using StatementText = std::pair<Statement*, const char*>;

template <std::size_t Count>
Status prepare_all(Database& database, const StatementText (&statements)[Count]) {
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = database.prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return {};
}

// The rows of a query on `table`, each made by `row_of`. Errors: that of the first row that fails
// its check.
template <typename Row>
Result<std::vector<Row>> read_rows(Database& database, const KnownIds& known, const char* table,
                                   std::string_view sql,
                                   Row (*row_of)(const Statement&, RowCheck&)) {
  std::vector<Row> rows;
  RowCheck check(table, known);
  const Status status = for_each_row(database, sql, [&](const Statement& row) {
    rows.push_back(row_of(row, check));
    return check.ok() ? Status() : check.status(database);
  });
  if (!status.ok()) return status;
  return rows;
}

// From the columns thread_id, name_id, start_ns, dur_ns and correlation, in this order.
inline ApiCall call_of(const Statement& row, RowCheck& check) {
  ApiCall call;
  call.thread = check.thread_or_none(row.value(0));
  call.name = check.string(row.value(1));
  call.start = check.time(row.value(2));
  call.dur = check.duration(row.value(3));
  call.correlation = check.correlation(row.value(4));
  return call;
}

// Three columns from `at` on, named with _x, _y and _z after `column`.
inline std::array<std::int32_t, 3> extent_of(const Statement& row, RowCheck& check, int at,
                                             const char* column) {
  const auto size = [&](int i) { return check.small(row.value(at + i), column); };
  return {size(0), size(1), size(2)};
}

}  // namespace stepscope
