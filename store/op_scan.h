// Reads ops in bulk: calls a visitor for each row of `op`.
#pragma once

#include <functional>

#include "store/events.h"
#include "store/row_check.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Thread safety: that of the database.
class OpScanner {
 public:
  OpScanner() = default;
  OpScanner(const OpScanner&) = delete;
  OpScanner& operator=(const OpScanner&) = delete;

  // Call it once, before the first scan. `database` then holds a pointer to this object until it is
  // closed.
  Status attach(Database& database);

  // Calls `visit` for each op after the id `after`, by id, until it returns false. `visit` may use
  // the database, and may itself scan. If it throws (because memory ran out), the exception
  // bypasses SQLite's frames and is rethrown here. Refuses rows that row_check.h rejects.
  Status scan(Database& database, const KnownIds& known,
              const std::function<bool(const Op&)>& visit, std::int64_t after = 0);

 private:
  struct Scan;
  static void visit_op(sqlite3_context* context, int, sqlite3_value** row);  // an SQL function

  Scan* scan_ = nullptr;  // the innermost scan in progress
};

}  // namespace stepscope
