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

#include "store/trace_reader.h"
#include "viewer-export/report/report_loops.h"
#include "viewer-export/report/report_names.h"

namespace stepscope {

class RunTables {
 public:
  // All must outlive this. `analysis`: with its call_ops.
  RunTables(const TraceReader& reader, const Analysis& analysis, const AnalysedTime& time,
            ReportNames& names);

  // Before the ops.
  Status read_devices();
  // `id`: of its row.
  void add_op(const Op& op, std::int64_t id);

  [[nodiscard]] nlohmann::ordered_json ops_json() const;
  [[nodiscard]] nlohmann::ordered_json shapes_json() const;
  [[nodiscard]] nlohmann::ordered_json kernels_json() const;
  [[nodiscard]] nlohmann::ordered_json copies_json() const;
  [[nodiscard]] nlohmann::ordered_json placement_json() const;

 private:
  struct Row {
    std::int64_t calls = 0, total_ns = 0, self_ns = 0, min_ns = INT64_MAX, max_ns = 0;
    std::int64_t device_ns = 0;   // of an op: what the device work that it launched itself took
    std::int64_t bytes = 0;       // of copies
    std::int64_t longest_op = 0;  // of a kernel: the op that launched its longest one
    SessionTime longest_at;

    void add(Duration dur, Duration self);
  };
  using OpKey = std::tuple<ProcessId, StringId, PhaseKind>;
  using ShapeKey = std::tuple<ProcessId, StringId, StringId>;
  using KernelKey = std::pair<DeviceId, StringId>;
  using CopyKey = std::tuple<DeviceId, CopyKind, MemoryKind, MemoryKind>;

  // The op that launched it; 0: none is known. Only of what was begun in analysed steps.
  std::int64_t add_activity(const Activity& activity);
  [[nodiscard]] bool counts(const Activity& activity) const;
  [[nodiscard]] DeviceId device_of(StreamId stream) const;

  const TraceReader& reader_;
  const Analysis& analysis_;
  const AnalysedTime& time_;
  ReportNames& names_;
  std::map<StreamId, DeviceId> device_of_;
  std::map<DeviceId, StoredDevice> devices_;
  std::unordered_map<std::int64_t, std::int64_t> op_of_;      // by correlation
  std::unordered_map<std::int64_t, std::int64_t> device_ns_;  // by op
  std::map<OpKey, Row> ops_;
  std::map<ShapeKey, Row> shapes_;
  std::map<KernelKey, Row> kernels_;
  std::map<CopyKey, Row> copies_;
  std::unordered_map<std::int64_t, StringId> name_of_op_;  // of the ops that kernels ask for
  std::int64_t host_self_ns_ = 0, device_self_ns_ = 0, launching_ops_ = 0, op_count_ = 0;
};

}  // namespace stepscope
