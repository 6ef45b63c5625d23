#include "store/device_slices.h"

#include "store/table_rows.h"

namespace stepscope {
namespace {

// A correlation should belong to one call. If a file has several, the first call counts.
constexpr char kSlices[] =
    "SELECT a.kind, a.stream_id, a.name_id, a.start_ns, a.dur_ns, a.correlation, a.copy_kind,"
    " a.source, a.target, a.bytes, a.gx, a.gy, a.gz, a.bx, a.by, a.bz,"
    " c.thread_id, c.start_ns, c.dur_ns, a.id FROM ("
    " SELECT 0 AS kind, id, stream_id, name_id, start_ns, dur_ns, correlation, 0 AS copy_kind,"
    "  0 AS source, 0 AS target, 0 AS bytes, grid_x AS gx, grid_y AS gy, grid_z AS gz,"
    "  block_x AS bx, block_y AS by, block_z AS bz FROM kernel"
    " UNION ALL SELECT 1, id, stream_id, NULL, start_ns, dur_ns, correlation, kind, source, target,"
    "  bytes, 0, 0, 0, 0, 0, 0 FROM copy"
    " UNION ALL SELECT 2, id, stream_id, NULL, start_ns, dur_ns, correlation, 0, 0, 0, bytes,"
    "  0, 0, 0, 0, 0, 0 FROM memset"
    ") AS a LEFT JOIN (SELECT correlation, thread_id, min(start_ns) AS start_ns, dur_ns"
    " FROM api_call WHERE correlation IS NOT NULL GROUP BY correlation) AS c"
    " ON c.correlation = a.correlation ORDER BY a.start_ns, a.dur_ns DESC";

constexpr char kCalls[] =
    "SELECT thread_id, name_id, start_ns, dur_ns, correlation, id FROM api_call"
    " ORDER BY start_ns, dur_ns DESC";

DeviceSlice slice_of(const Statement& row, RowCheck& check) {
  check.any_row(row.integer(19));
  DeviceSlice slice;
  slice.kind = check.kind(row.value(0), "kind", DeviceSlice::Kind::kMemset);
  slice.stream = check.stream_or_none(row.value(1));
  slice.name = check.string(row.value(2));
  slice.start = check.time(row.value(3));
  slice.dur = check.duration(row.value(4));
  slice.correlation = check.correlation(row.value(5));
  slice.copy = check.kind(row.value(6), "kind", CopyKind::kPeerToPeer);
  slice.source = check.kind(row.value(7), "source", MemoryKind::kManagedStatic);
  slice.target = check.kind(row.value(8), "target", MemoryKind::kManagedStatic);
  slice.bytes = check.count(row.value(9), "bytes");
  slice.grid = extent_of(row, check, 10, "grid");
  slice.block = extent_of(row, check, 13, "block");
  slice.call.thread = check.thread_or_none(row.value(16));
  slice.call.correlation = slice.correlation;
  if (!row.is_null(17)) {  // the call is known
    slice.call.start = check.time(row.value(17));
    slice.call.dur = Duration(check.integer(row.value(18), "dur_ns", 0, kMaxInAll));
  }
  check.in_order(slice.start);
  return slice;
}

ApiCall ordered_call_of(const Statement& row, RowCheck& check) {
  check.any_row(row.integer(5));
  const ApiCall call = call_of(row, check);
  check.in_order(call.start);
  return call;
}

// As for_each_row(), until `visit` returns false.
template <typename Event>
Status scan_rows(Database& database, const KnownIds& known, const char* table, const char* sql,
                 Event (*event_of)(const Statement&, RowCheck&),
                 const std::function<bool(const Event&)>& visit) {
  Result<Statement> rows = database.prepare(sql);
  if (!rows.ok()) return rows.status();
  RowCheck check(table, known);
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    const Event event = event_of(*rows, check);
    if (!check.ok()) return check.status(database);
    if (!visit(event)) return {};
  }
}

}  // namespace

Status scan_by_start(Database& database, const KnownIds& known,
                     const std::function<bool(const DeviceSlice&)>& visit) {
  return scan_rows(database, known, "kernel, copy or memset", kSlices, slice_of, visit);
}

Status scan_by_start(Database& database, const KnownIds& known,
                     const std::function<bool(const ApiCall&)>& visit) {
  return scan_rows(database, known, "api_call", kCalls, ordered_call_of, visit);
}

}  // namespace stepscope
