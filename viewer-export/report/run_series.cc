#include "viewer-export/report/run_series.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "store/counters.h"
#include "viewer-export/report/report.h"
#include "viewer-export/report/tensor_owners.h"
#include "viewer-export/report/thin_out.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

struct Point {
  std::int64_t at = 0;
  std::int64_t value = 0;
};
struct Series {
  std::vector<std::int64_t> at, value;

  void add(const Point& point) {
    at.push_back(point.at);
    value.push_back(point.value);
  }
};
struct SeriesKey {
  ProcessId process = ProcessId::kNone;
  StringId counter = StringId::kNone;
  std::int64_t gpu = -1;  // Sample::gpu

  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

bool is_memory(std::string_view name) {
  return name == counter::kRss || name == counter::kTensorBytes ||
         name == counter::kDeviceAllocatedBytes || name == counter::kDeviceReservedBytes ||
         name == counter::kMemoryAvailable;
}

bool is_cpu_time(std::string_view name) {
  return name == counter::kCpuUser || name == counter::kCpuSystem;
}

Json series_json(const SeriesKey& key, std::string_view name, const Series& series) {
  Json at = Json::array(), values = Json::array();
  for (const std::size_t i : thin_out(series.value, kReportPoints)) {
    at.push_back(series.at[i]);
    values.push_back(series.value[i]);
  }
  const auto peak = std::max_element(series.value.begin(), series.value.end());
  return {
      {"process", key.process == ProcessId::kNone ? Json(nullptr)
                                                  : Json(static_cast<std::int64_t>(key.process))},
      {"counter", name},
      {"gpu", key.gpu >= 0 ? Json(key.gpu) : Json(nullptr)},
      {"samples", series.value.size()},
      {"peak", *peak},
      {"peak_at_ns", series.at[static_cast<std::size_t>(peak - series.value.begin())]},
      {"last", series.value.back()},
      {"at_ns", at},
      {"value", values}};
}

// CPU time between the first and the last sample of a process; the sum of user and system time.
struct CpuTime {
  std::map<StringId, std::pair<Point, Point>> ends;  // by counter

  void add(StringId counter, const Point& point) {
    auto [entry, is_new] = ends.try_emplace(counter, point, point);
    if (!is_new) entry->second.second = point;
  }
  [[nodiscard]] Json cores() const {
    std::int64_t used = 0, span = 0;
    for (const auto& [counter, points] : ends) {
      used += points.second.value - points.first.value;
      span = std::max(span, points.second.at - points.first.at);
    }
    if (span <= 0) return nullptr;
    return static_cast<double>(used) / static_cast<double>(span);
  }
};

}  // namespace

Result<Json> run_series_json(const TraceReader& reader) {
  std::map<SeriesKey, Series> memory;
  std::map<ProcessId, CpuTime> cpu;
  TensorOwners tensors;
  const Status status = reader.for_each_sample([&](const Sample& sample) {
    const std::string_view name = reader.text(sample.counter);
    const Point point{to_ns(sample.at), sample.value};
    if (is_memory(name)) memory[{sample.process, sample.counter, sample.gpu}].add(point);
    tensors.add(sample, name);
    if (is_cpu_time(name)) cpu[sample.process].add(sample.counter, point);
    return true;
  });
  if (!status.ok()) return status;

  Json series = Json::array(), processes = Json::array();
  for (const auto& [key, points] : memory) {
    series.push_back(series_json(key, reader.text(key.counter), points));
  }
  for (const StoredProcess& process : reader.processes()) {
    processes.push_back(
        {{"id", static_cast<std::int64_t>(process.id)},
         {"pid", process.pid},
         {"parent", process.parent_pid > 0 ? Json(process.parent_pid) : Json(nullptr)},
         {"rank", process.rank >= 0 ? Json(process.rank) : Json(nullptr)},
         {"name", process.name},
         {"cores", cpu[process.id].cores()}});
  }
  return Json{{"series", series}, {"tensors", tensors.json()}, {"processes", processes}};
}

Json devices_json(const TraceReader& reader, const Analysis& analysis) {
  std::map<DeviceId, double> shares;
  for (const DeviceUtilization& use : analysis.utilizations) {
    if (to_ns(use.span) <= 0) continue;
    shares[use.device] =
        static_cast<double>(to_ns(use.kernel)) / static_cast<double>(to_ns(use.span));
  }
  Json devices = Json::array();
  for (const StoredDevice& device : reader.devices()) {
    const auto share = shares.find(device.id);
    const Json busy = share == shares.end() ? Json(nullptr) : Json(share->second);
    devices.push_back(
        {{"process", static_cast<std::int64_t>(device.process)},
         {"number", device.number},
         {"name", device.name},
         {"memory_bytes", device.memory_bytes > 0 ? Json(device.memory_bytes) : Json(nullptr)},
         {"kernel_share", busy}});
  }
  return devices;
}

}  // namespace stepscope
