#include "store/op_scan.h"

#include <cstdint>
#include <exception>
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
  Status shapes_of(std::int64_t op_id, RowCheck& check, StringId& shapes) {
    while (there_ && rows_.integer(0) < op_id) {
      if (Status status = advance(); !status.ok()) return status;
    }
    if (there_ && rows_.integer(0) == op_id) shapes = check.string(rows_.value(1), "shapes_id");
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

// SQLite passes a function the values of a row directly from its registers. Reading the columns
// from outside takes a mutex and an error check per column, which costs more than all the rest of
// the row. So the visitor is a condition of the statement; if the statement returns a row, the
// visitor wanted no more.
constexpr char kScanOps[] =
    "SELECT 1 FROM op WHERE visit_op(thread_id, name_id, start_ns, dur_ns, self_ns, scope,"
    " phase, depth, sequence, forward_thread, id) AND id > ?1 ORDER BY id";
constexpr int kScanArguments = 11;

constexpr std::int64_t kLargestScope = UINT8_MAX;  // a later libtorch may have more of them

Op op_of(sqlite3_value** row, RowCheck& check) {
  Op op;
  op.thread = check.thread(row[0]);
  op.name = check.string(row[1]);
  op.start = check.time(row[2]);
  op.dur = check.duration(row[3]);
  const bool leaf = sqlite3_value_type(row[4]) == SQLITE_NULL;
  op.self = leaf ? op.dur : check.part(row[4], "self_ns", op.dur);
  op.scope = static_cast<OpScope>(check.integer(row[5], "scope", 0, kLargestScope));
  op.phase = check.kind(row[6], "phase", kLastPhaseOfOps);
  op.depth = static_cast<std::uint8_t>(check.integer(row[7], "depth", 0, UINT8_MAX));
  op.sequence = check.integer_or(row[8], "sequence", -1, -1, INT64_MAX);
  op.forward_thread =
      static_cast<std::uint32_t>(check.integer_or(row[9], "forward_thread", 0, 0, UINT32_MAX));
  return op;
}

}  // namespace

struct OpScanner::Scan {
  const Database& database;
  const std::function<bool(const Op&)>& visit;
  RowCheck check;
  ShapesCursor shapes;
  Status status;
  std::exception_ptr thrown;

  // Whether the next op is wanted.
  bool take(sqlite3_value** row) {
    const std::int64_t id = sqlite3_value_int64(row[10]);
    check.next_row(id);
    Op op = op_of(row, check);
    status = shapes.shapes_of(id, check, op.shapes);
    if (status.ok() && !check.ok()) status = check.status(database);
    return status.ok() && visit(op);
  }
};

void OpScanner::visit_op(sqlite3_context* context, int, sqlite3_value** row) {
  Scan* const scan = static_cast<OpScanner*>(sqlite3_user_data(context))->scan_;
  bool go_on = false;
  try {
    go_on = scan->take(row);
  } catch (...) {
    scan->thrown = std::current_exception();
  }
  sqlite3_result_int(context, go_on ? 0 : 1);
}

Status OpScanner::attach(Database& database) {
  const int code = sqlite3_create_function_v2(database.handle(), "visit_op", kScanArguments,
                                              SQLITE_UTF8 | SQLITE_DIRECTONLY, this, visit_op,
                                              nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : database.error();
}

Status OpScanner::scan(Database& database, const KnownIds& known,
                       const std::function<bool(const Op&)>& visit, std::int64_t after) {
  Scan scan{database, visit, RowCheck("op", known, after), {}, {}, {}};
  if (Status status = scan.shapes.open(database, after); !status.ok()) return status;
  Result<Statement> rows = database.prepare(kScanOps);
  if (!rows.ok()) return rows.status();
  rows->bind(1, after);
  Scan* const outer = std::exchange(scan_, &scan);
  const int code = rows->step();
  scan_ = outer;
  if (scan.thrown) {
    rows->reset();
    std::rethrow_exception(scan.thrown);
  }
  if (code != SQLITE_ROW && code != SQLITE_DONE) return rows->error();
  return scan.status;
}

}  // namespace stepscope
