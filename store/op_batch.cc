#include "store/op_batch.h"

#include <cstddef>
#include <new>

namespace stepscope {
namespace {

constexpr char kColumns[] =
    "CREATE TABLE op_batch(thread_id, name_id, start_ns, dur_ns, self_ns, scope, phase, depth,"
    " sequence, forward_thread, shapes_id)";
enum Column {
  kThread,
  kName,
  kStart,
  kDur,
  kSelf,
  kScope,
  kPhase,
  kDepth,
  kSequence,
  kForward,
  kShapes
};

// SQLite's structs come first, so that a pointer to them is a pointer to ours.
struct Table : sqlite3_vtab {
  OpBatch* batch;
};
struct Cursor : sqlite3_vtab_cursor {
  std::span<const Op> ops;
  std::size_t row;
};

int connect(sqlite3* handle, void* batch, int, const char* const*, sqlite3_vtab** out, char**) {
  const int code = sqlite3_declare_vtab(handle, kColumns);
  if (code != SQLITE_OK) return code;
  auto* table = new (std::nothrow) Table{{}, static_cast<OpBatch*>(batch)};
  *out = table;
  return table != nullptr ? SQLITE_OK : SQLITE_NOMEM;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }  // always the whole span

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  auto* cursor = new (std::nothrow) Cursor{};
  *out = cursor;
  return cursor != nullptr ? SQLITE_OK : SQLITE_NOMEM;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value**) {
  auto* cursor = static_cast<Cursor*>(base);
  cursor->ops = static_cast<Table*>(base->pVtab)->batch->ops;
  cursor->row = 0;
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* base) {
  const auto* cursor = static_cast<const Cursor*>(base);
  return cursor->row >= cursor->ops.size() ? 1 : 0;
}

// A result that is never set is NULL.
void result_unless(sqlite3_context* context, std::int64_t value, std::int64_t none) {
  if (value != none) sqlite3_result_int64(context, value);
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int at) {
  const auto* cursor = static_cast<const Cursor*>(base);
  const Op& op = cursor->ops[cursor->row];
  switch (at) {
    case kThread:
      sqlite3_result_int64(context, static_cast<std::int64_t>(op.thread));
      break;
    case kName:
      result_unless(context, static_cast<std::int64_t>(op.name), 0);
      break;
    case kStart:
      sqlite3_result_int64(context, to_ns(op.start));
      break;
    case kDur:
      sqlite3_result_int64(context, to_ns(op.dur));
      break;
    case kSelf:
      result_unless(context, to_ns(op.self), to_ns(op.dur));
      break;
    case kScope:
      sqlite3_result_int64(context, static_cast<std::int64_t>(op.scope));
      break;
    case kPhase:
      sqlite3_result_int64(context, static_cast<std::int64_t>(op.phase));
      break;
    case kDepth:
      sqlite3_result_int64(context, op.depth);
      break;
    case kSequence:
      result_unless(context, op.sequence, -1);
      break;
    case kForward:
      result_unless(context, op.forward_thread, 0);
      break;
    case kShapes:
      result_unless(context, static_cast<std::int64_t>(op.shapes), 0);
      break;
    default:
      break;
  }
  return SQLITE_OK;
}

int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  *out = static_cast<sqlite3_int64>(static_cast<const Cursor*>(cursor)->row);
  return SQLITE_OK;
}

sqlite3_module make_module() {
  sqlite3_module module{};
  // No xCreate: the table exists under the name of its module (eponymous-only).
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}

}  // namespace

Status register_op_batch(Database& database, OpBatch* batch) {
  static const sqlite3_module module = make_module();
  const int code = sqlite3_create_module_v2(database.handle(), "op_batch", &module, batch, nullptr);
  return code == SQLITE_OK ? Status() : database.error();
}

}  // namespace stepscope
