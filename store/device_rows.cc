#include "store/device_rows.h"

#include <string>
#include <string_view>
#include <utility>

#include "store/rows.h"
#include "store/utf8.h"

namespace stepscope {
namespace {

template <typename Enum>
std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

// stream_id, start_ns, dur_ns and correlation are at these columns.
struct ActivityColumns {
  int stream, start, dur, correlation;
};

Activity activity_of(const Statement& row, ActivityColumns at) {
  return {static_cast<StreamId>(row.integer(at.stream)), session_time(row.integer(at.start)),
          Duration(row.integer(at.dur)), row.integer(at.correlation)};  // NULL reads as 0
}

std::array<std::int32_t, 3> extent_of(const Statement& row, int at) {
  const auto size = [&](int i) { return static_cast<std::int32_t>(row.integer(at + i)); };
  return {size(0), size(1), size(2)};
}

std::string after_id(std::int64_t after) {
  return " WHERE id > " + std::to_string(after) + " ORDER BY id";
}

template <typename... More>
Status run_with(Statement& statement, const Device& device, More... more) {
  const std::string name = clean_utf8(device.name);
  // Minor 0 is a value where the major is known.
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
  const std::pair<Statement*, const char*> statements[] = {
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
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = database.prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return {};
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

Result<std::vector<StoredDevice>> read_devices(Database& database) {
  std::vector<StoredDevice> devices;
  const Status status = for_each_row(
      database,
      "SELECT id, process_id, number, name, memory_bytes, compute_major, compute_minor,"
      " multiprocessors, max_threads_per_multiprocessor, registers_per_multiprocessor,"
      " shared_bytes_per_multiprocessor FROM device ORDER BY id",
      [&](const Statement& row) {
        devices.push_back({{static_cast<ProcessId>(row.integer(1)), row.integer(2), row.text(3),
                            row.integer(4), row.integer(5), row.integer(6), row.integer(7),
                            row.integer(8), row.integer(9), row.integer(10)},
                           static_cast<DeviceId>(row.integer(0))});
      });
  if (!status.ok()) return status;
  return devices;
}

Result<std::vector<StoredStream>> read_streams(Database& database) {
  std::vector<StoredStream> streams;
  const Status status = for_each_row(
      database, "SELECT id, device_id, context, number FROM stream ORDER BY id",
      [&](const Statement& row) {
        streams.push_back({{static_cast<DeviceId>(row.integer(1)), row.integer(2), row.integer(3)},
                           static_cast<StreamId>(row.integer(0))});
      });
  if (!status.ok()) return status;
  return streams;
}

Status scan(Database& database, const std::function<void(const ApiCall&)>& visit,
            std::int64_t after) {
  return for_each_row(
      database,
      std::string("SELECT thread_id, name_id, start_ns, dur_ns, correlation FROM api_call") +
          after_id(after),
      [&](const Statement& row) {
        visit({static_cast<ThreadId>(row.integer(0)), static_cast<StringId>(row.integer(1)),
               session_time(row.integer(2)), Duration(row.integer(3)), row.integer(4)});
      });
}

Status scan(Database& database, const std::function<void(const Kernel&)>& visit,
            std::int64_t after) {
  return for_each_row(
      database,
      std::string("SELECT stream_id, name_id, start_ns, dur_ns, correlation, grid_x, grid_y, "
                  "grid_z, block_x,"
                  " block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, graph, "
                  "graph_node"
                  " FROM kernel") +
          after_id(after),
      [&](const Statement& row) {
        visit({activity_of(row, {0, 2, 3, 4}), static_cast<StringId>(row.integer(1)),
               extent_of(row, 5), extent_of(row, 8), static_cast<std::int32_t>(row.integer(11)),
               row.integer(12), row.integer(13), row.integer(14), row.integer(15)});
      });
}

Status scan(Database& database, const std::function<void(const Copy&)>& visit, std::int64_t after) {
  return for_each_row(
      database,
      std::string("SELECT stream_id, kind, source, target, start_ns, dur_ns, bytes, correlation "
                  "FROM copy") +
          after_id(after),
      [&](const Statement& row) {
        visit({activity_of(row, {0, 4, 5, 7}), static_cast<CopyKind>(row.integer(1)),
               static_cast<MemoryKind>(row.integer(2)), static_cast<MemoryKind>(row.integer(3)),
               row.integer(6)});
      });
}

Status scan(Database& database, const std::function<void(const Memset&)>& visit,
            std::int64_t after) {
  return for_each_row(
      database,
      std::string("SELECT stream_id, start_ns, dur_ns, bytes, correlation FROM memset") +
          after_id(after),
      [&](const Statement& row) {
        visit({activity_of(row, {0, 1, 2, 4}), row.integer(3)});
      });
}

Status scan(Database& database, const std::function<void(const Sync&)>& visit, std::int64_t after) {
  return for_each_row(
      database,
      std::string("SELECT device_id, stream_id, kind, start_ns, dur_ns, correlation FROM sync") +
          after_id(after),
      [&](const Statement& row) {
        visit({static_cast<DeviceId>(row.integer(0)), static_cast<StreamId>(row.integer(1)),
               static_cast<SyncKind>(row.integer(2)), session_time(row.integer(3)),
               Duration(row.integer(4)), row.integer(5)});
      });
}

}  // namespace stepscope
