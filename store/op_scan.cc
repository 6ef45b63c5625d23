#include "store/op_scan.h"

#include <utility>

namespace stepscope {
namespace {

// The shapes of ops, walked alongside the ops: both are in the order of op ids.
class ShapesCursor {
 public:
  Status open(Database& database, std::int64_t after) {
    Result<Statement> rows =
        database.prepare("SELECT op_id, shapes_id FROM op_shapes WHERE op_id > ?1 ORDER BY op_id");
    if (!rows.ok()) return rows.status();
    rows->bind(1, after);
    rows_ = std::move(*rows);
    return advance();
  }

  // Ids must come in ascending order.
  Status shapes_of(std::int64_t op_id, StringId& shapes) {
    while (there_ && rows_.integer(0) < op_id) {
      if (Status status = advance(); !status.ok()) return status;
    }
    if (there_ && rows_.integer(0) == op_id) shapes = static_cast<StringId>(rows_.integer(1));
    return {};
  }

 private:
  Status advance() {
    const Result<bool> row = rows_.next();
    there_ = row.ok() && *row;
    return row.status();
  }

  Statement rows_;
  bool there_ = false;
};

// SQLite hands a function the values of a row as they stand in its registers. To ask for each
// column from outside takes a mutex and a look for errors a column, which costs more than all the
// rest of the row. So the visitor is a condition of the statement; the one row that may come out
// says that it wanted no more.
constexpr char kScanOps[] =
    "SELECT 1 FROM op WHERE visit_op(thread_id, name_id, start_ns, dur_ns, self_ns, scope,"
    " phase, depth, sequence, forward_thread, id) AND id > ?1 ORDER BY id";
constexpr int kScanArguments = 11;

std::int64_t integer_or(sqlite3_value* value, std::int64_t otherwise) {
  return sqlite3_value_type(value) == SQLITE_NULL ? otherwise : sqlite3_value_int64(value);
}

Op op_of(sqlite3_value** row) {
  Op op;
  op.thread = static_cast<ThreadId>(sqlite3_value_int64(row[0]));
  op.name = static_cast<StringId>(sqlite3_value_int64(row[1]));  // NULL reads as 0
  op.start = session_time(sqlite3_value_int64(row[2]));
  op.dur = Duration(sqlite3_value_int64(row[3]));
  op.self = Duration(integer_or(row[4], to_ns(op.dur)));
  op.scope = static_cast<OpScope>(sqlite3_value_int64(row[5]));
  op.phase = static_cast<PhaseKind>(sqlite3_value_int64(row[6]));
  op.depth = static_cast<std::uint8_t>(sqlite3_value_int64(row[7]));
  op.sequence = integer_or(row[8], -1);
  op.forward_thread = static_cast<std::uint32_t>(sqlite3_value_int64(row[9]));
  return op;
}

}  // namespace

struct OpScanner::Scan {
  const std::function<bool(const Op&)>& visit;
  ShapesCursor shapes;
  Status status;
};

void OpScanner::visit_op(sqlite3_context* context, int, sqlite3_value** row) {
  Scan* const scan = static_cast<OpScanner*>(sqlite3_user_data(context))->scan_;
  Op op = op_of(row);
  scan->status = scan->shapes.shapes_of(sqlite3_value_int64(row[10]), op.shapes);
  const bool go_on = scan->status.ok() && scan->visit(op);
  sqlite3_result_int(context, go_on ? 0 : 1);
}

Status OpScanner::attach(Database& database) {
  const int code = sqlite3_create_function_v2(database.handle(), "visit_op", kScanArguments,
                                              SQLITE_UTF8 | SQLITE_DIRECTONLY, this, visit_op,
                                              nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : database.error();
}

Status OpScanner::scan(Database& database, const std::function<bool(const Op&)>& visit,
                       std::int64_t after) {
  Scan scan{visit, {}, {}};
  if (Status status = scan.shapes.open(database, after); !status.ok()) return status;
  Result<Statement> rows = database.prepare(kScanOps);
  if (!rows.ok()) return rows.status();
  rows->bind(1, after);
  Scan* const outer = std::exchange(scan_, &scan);
  const int code = rows->step();
  scan_ = outer;
  if (code != SQLITE_ROW && code != SQLITE_DONE) return rows->error();
  return scan.status;
}

}  // namespace stepscope
