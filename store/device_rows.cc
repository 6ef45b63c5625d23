#include "store/device_rows.h"

#include <string>
#include <string_view>
#include <utility>

#include "store/table_rows.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

template <typename Enum>
std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

// The columns of stream_id, start_ns, dur_ns and correlation.
struct ActivityColumns {
  int stream, start, dur, correlation;
};

Activity activity_of(const Statement& row, RowCheck& check, ActivityColumns at) {
  Activity activity;
  activity.stream = check.stream_or_none(row.value(at.stream));
  activity.start = check.time(row.value(at.start));
  activity.dur = check.duration(row.value(at.dur));
  activity.correlation = check.correlation(row.value(at.correlation));
  return activity;
}

std::int64_t shared_bytes(const Statement& row, RowCheck& check, int at, const char* column) {
  return check.integer(row.value(at), column, 0, kLargestUnsigned);
}

StoredDevice device_of(const Statement& row, RowCheck& check) {
  const auto fact = [&](int at, const char* column) {
    return check.integer_or(row.value(at), column, 0, 0, kLargestUnsigned);
  };
  check.next_entity(row.integer(0));
  StoredDevice device;
  device.id = static_cast<DeviceId>(row.integer(0));
  device.process = check.process(row.value(1));
  device.number = check.integer(row.value(2), "number", 0, kLargestUnsigned);
  device.name = check.name(row.text(3));
  device.memory_bytes = check.integer_or(row.value(4), "memory_bytes", 0, 0, kLargestValue);
  device.compute_major = fact(5, "compute_major");
  device.compute_minor = fact(6, "compute_minor");
  device.multiprocessors = fact(7, "multiprocessors");
  device.max_threads_per_multiprocessor = fact(8, "max_threads_per_multiprocessor");
  device.registers_per_multiprocessor = fact(9, "registers_per_multiprocessor");
  device.shared_bytes_per_multiprocessor = fact(10, "shared_bytes_per_multiprocessor");
  return device;
}

StoredStream stream_of(const Statement& row, RowCheck& check) {
  check.next_entity(row.integer(0));
  StoredStream stream;
  stream.id = static_cast<StreamId>(row.integer(0));
  stream.device = check.device_or_none(row.value(1));
  stream.context = check.any_integer(row.value(2), "context");
  stream.number = check.any_integer(row.value(3), "number");
  return stream;
}

Kernel kernel_of(const Statement& row, RowCheck& check) {
  Kernel kernel{activity_of(row, check, {0, 2, 3, 4})};
  kernel.name = check.string(row.value(1));
  kernel.grid = extent_of(row, check, 5, "grid");
  kernel.block = extent_of(row, check, 8, "block");
  kernel.registers = check.small(row.value(11), "registers");
  kernel.static_shared_bytes = shared_bytes(row, check, 12, "static_shared_bytes");
  kernel.dynamic_shared_bytes = shared_bytes(row, check, 13, "dynamic_shared_bytes");
  kernel.graph = check.any_integer_or(row.value(14), "graph", 0);
  kernel.graph_node = check.any_integer_or(row.value(15), "graph_node", 0);
  return kernel;
}

Copy copy_of(const Statement& row, RowCheck& check) {
  Copy copy{activity_of(row, check, {0, 4, 5, 7})};
  copy.kind = check.kind(row.value(1), "kind", CopyKind::kPeerToPeer);
  copy.source = check.kind(row.value(2), "source", MemoryKind::kManagedStatic);
  copy.target = check.kind(row.value(3), "target", MemoryKind::kManagedStatic);
  copy.bytes = check.count(row.value(6), "bytes");
  return copy;
}

Memset memset_of(const Statement& row, RowCheck& check) {
  Memset memset{activity_of(row, check, {0, 1, 2, 4})};
  memset.bytes = check.count(row.value(3), "bytes");
  return memset;
}

Sync sync_of(const Statement& row, RowCheck& check) {
  Sync sync;
  sync.device = check.device_or_none(row.value(0));
  sync.stream = check.stream_or_none(row.value(1));
  sync.kind = check.kind(row.value(2), "kind", SyncKind::kContext);
  sync.start = check.time(row.value(3));
  sync.dur = check.duration(row.value(4));
  sync.correlation = check.correlation(row.value(5));
  return sync;
}

// Visits the rows of `table` after the id `after`. Each row has `columns`, followed by its id.
template <typename Event>
Status scan_table(Database& database, const KnownIds& known, const char* table, const char* columns,
                  Event (*event_of)(const Statement&, RowCheck&), std::int64_t after,
                  const std::function<void(const Event&)>& visit) {
  RowCheck check(table, known, after);
  const std::string sql = std::string("SELECT ") + columns + ", id FROM " + table + " WHERE id > " +
                          std::to_string(after) + " ORDER BY id";
  return for_each_row(database, sql, [&](const Statement& row) {
    check.next_row(row.integer(sqlite3_column_count(row.handle()) - 1));
    const Event event = event_of(row, check);
    if (!check.ok()) return check.status(database);
    visit(event);
    return Status();
  });
}

Device plausible(Device device) {
  device.number = known_amount(device.number, kLargestUnsigned);
  device.memory_bytes = known_amount(device.memory_bytes, kLargestValue);
  for (std::int64_t* fact :
       {&device.compute_major, &device.compute_minor, &device.multiprocessors,
        &device.max_threads_per_multiprocessor, &device.registers_per_multiprocessor,
        &device.shared_bytes_per_multiprocessor}) {
    *fact = known_amount(*fact, kLargestUnsigned);
  }
  return device;
}

template <typename... More>
Status run_with(Statement& statement, const Device& given, More... more) {
  const Device device = plausible(given);
  const std::string name = clean_utf8(device.name);
  // A minor of 0 is a known value if the major is known.
  const NullableInteger minor = unless(device.compute_major == 0 ? -1 : device.compute_minor, -1);
  return statement.run(number(device.process), device.number, std::string_view(name),
                       nullable(device.memory_bytes), nullable(device.compute_major), minor,
                       nullable(device.multiprocessors),
                       nullable(device.max_threads_per_multiprocessor),
                       nullable(device.registers_per_multiprocessor),
                       nullable(device.shared_bytes_per_multiprocessor), more...);
}

}  // namespace

Status DeviceWriter::prepare(Database& database) {
  const StatementText statements[] = {
      {&device_, "INSERT INTO device VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
      {&update_device_,
       "INSERT OR REPLACE INTO device VALUES (?11, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
      {&stream_, "INSERT INTO stream VALUES (NULL, ?1, ?2, ?3)"},
      {&call_, "INSERT INTO api_call VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&kernel_,
       "INSERT INTO kernel VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
       " ?14, ?15, ?16)"},
      {&copy_, "INSERT INTO copy VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
      {&memset_, "INSERT INTO memset VALUES (NULL, ?1, ?2, ?3, ?4, ?5)"},
      {&sync_, "INSERT INTO sync VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)"}};
  return prepare_all(database, statements);
}

Status DeviceWriter::add(const Device& device) { return run_with(device_, device); }

Status DeviceWriter::update(DeviceId id, const Device& device) {
  return run_with(update_device_, device, number(id));
}

Status DeviceWriter::add(const Stream& stream) {
  return stream_.run(number(stream.device), stream.context, stream.number);
}

Status DeviceWriter::add(const ApiCall& call) {
  return call_.run(number(call.thread), nullable(call.name), to_ns(call.start), to_ns(call.dur),
                   nullable(call.correlation));
}

Status DeviceWriter::add(const Kernel& kernel) {
  const auto size = [](const std::array<std::int32_t, 3>& extent, std::size_t i) {
    return std::int64_t{extent[i]};
  };
  return kernel_.run(number(kernel.stream), nullable(kernel.name), to_ns(kernel.start),
                     to_ns(kernel.dur), nullable(kernel.correlation), size(kernel.grid, 0),
                     size(kernel.grid, 1), size(kernel.grid, 2), size(kernel.block, 0),
                     size(kernel.block, 1), size(kernel.block, 2), std::int64_t{kernel.registers},
                     kernel.static_shared_bytes, kernel.dynamic_shared_bytes,
                     nullable(kernel.graph), nullable(kernel.graph_node));
}

Status DeviceWriter::add(const Copy& copy) {
  return copy_.run(number(copy.stream), number(copy.kind), number(copy.source), number(copy.target),
                   to_ns(copy.start), to_ns(copy.dur), copy.bytes, nullable(copy.correlation));
}

Status DeviceWriter::add(const Memset& memset) {
  return memset_.run(number(memset.stream), to_ns(memset.start), to_ns(memset.dur), memset.bytes,
                     nullable(memset.correlation));
}

Status DeviceWriter::add(const Sync& sync) {
  return sync_.run(number(sync.device), nullable(sync.stream), number(sync.kind), to_ns(sync.start),
                   to_ns(sync.dur), nullable(sync.correlation));
}

Result<std::vector<StoredDevice>> read_devices(Database& database, const KnownIds& known) {
  return read_rows(
      database, known, "device",
      "SELECT id, process_id, number, name, memory_bytes, compute_major, compute_minor,"
      " multiprocessors, max_threads_per_multiprocessor, registers_per_multiprocessor,"
      " shared_bytes_per_multiprocessor FROM device ORDER BY id",
      device_of);
}

Result<std::vector<StoredStream>> read_streams(Database& database, const KnownIds& known) {
  return read_rows(database, known, "stream",
                   "SELECT id, device_id, context, number FROM stream ORDER BY id", stream_of);
}

Status scan(Database& database, const KnownIds& known,
            const std::function<void(const ApiCall&)>& visit, std::int64_t after) {
  return scan_table(database, known, "api_call",
                    "thread_id, name_id, start_ns, dur_ns, correlation", call_of, after, visit);
}

Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Kernel&)>& visit, std::int64_t after) {
  return scan_table(database, known, "kernel",
                    "stream_id, name_id, start_ns, dur_ns, correlation, grid_x, grid_y, grid_z,"
                    " block_x, block_y, block_z, registers, static_shared_bytes,"
                    " dynamic_shared_bytes, graph, graph_node",
                    kernel_of, after, visit);
}

Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Copy&)>& visit, std::int64_t after) {
  return scan_table(database, known, "copy",
                    "stream_id, kind, source, target, start_ns, dur_ns, bytes, correlation",
                    copy_of, after, visit);
}

Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Memset&)>& visit, std::int64_t after) {
  return scan_table(database, known, "memset", "stream_id, start_ns, dur_ns, bytes, correlation",
                    memset_of, after, visit);
}

Status scan(Database& database, const KnownIds& known,
            const std::function<void(const Sync&)>& visit, std::int64_t after) {
  return scan_table(database, known, "sync",
                    "device_id, stream_id, kind, start_ns, dur_ns, correlation", sync_of, after,
                    visit);
}

}  // namespace stepscope
