#include "store/device_slices.h"

#include <array>

#include "store/rows.h"

namespace stepscope {
namespace {

// A correlation should be that of one call. Where a file says otherwise, the first call counts.
constexpr char kSlices[] =
    "SELECT a.kind, a.stream_id, a.name_id, a.start_ns, a.dur_ns, a.correlation, a.copy_kind,"
    " a.source, a.target, a.bytes, a.gx, a.gy, a.gz, a.bx, a.by, a.bz,"
    " c.thread_id, c.start_ns, c.dur_ns FROM ("
    " SELECT 0 AS kind, stream_id, name_id, start_ns, dur_ns, correlation, 0 AS copy_kind,"
    "  0 AS source, 0 AS target, 0 AS bytes, grid_x AS gx, grid_y AS gy, grid_z AS gz,"
    "  block_x AS bx, block_y AS by, block_z AS bz FROM kernel"
    " UNION ALL SELECT 1, stream_id, NULL, start_ns, dur_ns, correlation, kind, source, target,"
    "  bytes, 0, 0, 0, 0, 0, 0 FROM copy"
    " UNION ALL SELECT 2, stream_id, NULL, start_ns, dur_ns, correlation, 0, 0, 0, bytes,"
    "  0, 0, 0, 0, 0, 0 FROM memset"
    ") AS a LEFT JOIN (SELECT correlation, thread_id, min(start_ns) AS start_ns, dur_ns"
    " FROM api_call WHERE correlation IS NOT NULL GROUP BY correlation) AS c"
    " ON c.correlation = a.correlation ORDER BY a.start_ns, a.dur_ns DESC";

constexpr char kCalls[] =
    "SELECT thread_id, name_id, start_ns, dur_ns, correlation FROM api_call"
    " ORDER BY start_ns, dur_ns DESC";

template <typename Enum>
Enum enum_at(const Statement& row, int at) {
  return static_cast<Enum>(row.integer(at));
}

std::array<std::int32_t, 3> extent_at(const Statement& row, int at) {
  const auto size = [&](int i) { return static_cast<std::int32_t>(row.integer(at + i)); };
  return {size(0), size(1), size(2)};
}

DeviceSlice slice_of(const Statement& row) {
  DeviceSlice slice;
  slice.kind = enum_at<DeviceSlice::Kind>(row, 0);
  slice.stream = enum_at<StreamId>(row, 1);
  slice.name = enum_at<StringId>(row, 2);
  slice.start = session_time(row.integer(3));
  slice.dur = Duration(row.integer(4));
  slice.correlation = row.integer(5);
  slice.copy = enum_at<CopyKind>(row, 6);
  slice.source = enum_at<MemoryKind>(row, 7);
  slice.target = enum_at<MemoryKind>(row, 8);
  slice.bytes = row.integer(9);
  slice.grid = extent_at(row, 10);
  slice.block = extent_at(row, 13);
  slice.call = {enum_at<ThreadId>(row, 16), StringId::kNone, session_time(row.integer(17)),
                Duration(row.integer(18)), slice.correlation};
  return slice;
}

// As for_each_row(), until `visit` returns false.
template <typename Visit>
Status scan_rows(Database& database, const char* sql, const Visit& visit) {
  Result<Statement> rows = database.prepare(sql);
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row || !visit(*rows)) return {};
  }
}

}  // namespace

Status scan_by_start(Database& database, const std::function<bool(const DeviceSlice&)>& visit) {
  return scan_rows(database, kSlices, [&](const Statement& row) { return visit(slice_of(row)); });
}

Status scan_by_start(Database& database, const std::function<bool(const ApiCall&)>& visit) {
  return scan_rows(database, kCalls, [&](const Statement& row) {
    return visit({enum_at<ThreadId>(row, 0), enum_at<StringId>(row, 1),
                  session_time(row.integer(2)), Duration(row.integer(3)), row.integer(4)});
  });
}

}  // namespace stepscope
