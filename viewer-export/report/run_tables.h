// What a run spent its analysed steps on: a row for each op, kernel and kind of copy.
//
// Thread safety: none. Memory: a row for each name, and 16 bytes for each call of a device's API.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "store/table_names.h"
#include "store/trace_reader.h"
#include "viewer-export/report/report_loops.h"
#include "viewer-export/report/report_names.h"

namespace stepscope {

class RunTables {
 public:
  // All must outlive this. `analysis`: with its call_ops.
  RunTables(const TraceReader& reader, const Analysis& analysis, const AnalysedTime& time,
            ReportNames& names);

  // Call before adding ops.
  Status read_devices();
  // `id`: that of the op's row in the store.
  void add_op(const Op& op, std::int64_t id);

  [[nodiscard]] nlohmann::ordered_json ops_json() const;
  [[nodiscard]] nlohmann::ordered_json shapes_json() const;
  [[nodiscard]] nlohmann::ordered_json kernels_json() const;
  [[nodiscard]] nlohmann::ordered_json copies_json() const;
  [[nodiscard]] nlohmann::ordered_json placement_json() const;

 private:
  struct Row {
    std::int64_t calls = 0, total_ns = 0, self_ns = 0, min_ns = INT64_MAX, max_ns = 0;
    std::int64_t device_ns = 0;   // of an op: the time of the device work that it launched itself
    std::int64_t bytes = 0;       // of copies
    double occupancy_ns = 0;      // of a kernel: its theoretical occupancies times their times
    std::int64_t beside_ns = 0;   // of copies: while a kernel ran
    std::int64_t longest_op = 0;  // of a kernel: the op that launched its longest one
    SessionTime longest_at;

    void add(Duration dur, Duration self);
  };
  using OpKey = std::tuple<ProcessId, StringId, PhaseKind>;
  using ShapeKey = std::tuple<ProcessId, StringId, StringId>;
  using KernelKey = std::pair<DeviceId, StringId>;
  // Threads of a block, registers of a thread, shared bytes of a block.
  using ShapeOfBlock = std::tuple<DeviceId, std::int64_t, std::int64_t, std::int64_t>;
  using CopyKey = std::tuple<DeviceId, CopyKind, MemoryKind, MemoryKind>;

  // Returns the op that launched it; 0 if unknown. Known only for what began in analysed steps.
  std::int64_t add_activity(const Activity& activity);
  void add_kernel(const Kernel& kernel);
  void add_copy(const Copy& copy, std::int64_t id);
  [[nodiscard]] bool counts(const Activity& activity) const;
  [[nodiscard]] DeviceId device_of(StreamId stream) const;
  // The number of a row's name in the page. `names`: the names of its table.
  [[nodiscard]] std::int64_t number_of(StringId name, const TableNames& names) const;

  const TraceReader& reader_;
  const Analysis& analysis_;
  const AnalysedTime& time_;
  ReportNames& names_;
  std::map<StreamId, DeviceId> device_of_;
  std::map<DeviceId, StoredDevice> devices_;
  std::map<ShapeOfBlock, double> occupancy_of_;
  std::unordered_map<std::int64_t, std::int64_t> beside_of_;  // ns, by copy
  std::unordered_map<std::int64_t, std::int64_t> op_of_;      // by correlation
  std::unordered_map<std::int64_t, std::int64_t> device_ns_;  // by op
  TableNames op_names_, shape_names_, kernel_names_;
  std::map<OpKey, Row> ops_;
  std::map<ShapeKey, Row> shapes_;
  std::map<KernelKey, Row> kernels_;
  std::map<CopyKey, Row> copies_;
  std::unordered_map<std::int64_t, StringId> name_of_op_;  // of the ops that kernel rows name
  std::int64_t host_self_ns_ = 0, device_self_ns_ = 0, launching_ops_ = 0, op_count_ = 0;
};

}  // namespace stepscope
