#include "viewer-export/report/run_series.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "store/counters.h"
#include "viewer-export/report/report.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

struct Point {
  std::int64_t at = 0;
  std::int64_t value = 0;
};
using Series = std::vector<Point>;
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

// The smallest and the largest value of each stretch stay, in their order: what is looked for in
// such a graph are its peaks.
Series thinned(const Series& series) {
  if (series.size() <= kReportPoints) return series;
  const std::size_t stretches = kReportPoints / 2;
  Series kept;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = series.begin() + static_cast<std::ptrdiff_t>(i * series.size() / stretches);
    const auto end =
        series.begin() + static_cast<std::ptrdiff_t>((i + 1) * series.size() / stretches);
    auto [low, high] = std::minmax_element(
        begin, end, [](const Point& a, const Point& b) { return a.value < b.value; });
    if (low > high) std::swap(low, high);
    kept.push_back(*low);
    if (low != high) kept.push_back(*high);
  }
  return kept;
}

const Point& peak_of(const Series& series) {
  return *std::max_element(series.begin(), series.end(),
                           [](const Point& a, const Point& b) { return a.value < b.value; });
}

Json series_json(const SeriesKey& key, std::string_view name, const Series& series) {
  Json at = Json::array(), values = Json::array();
  for (const Point& point : thinned(series)) {
    at.push_back(point.at);
    values.push_back(point.value);
  }
  const Point& peak = peak_of(series);
  return {
      {"process", key.process == ProcessId::kNone ? Json(nullptr)
                                                  : Json(static_cast<std::int64_t>(key.process))},
      {"counter", name},
      {"gpu", key.gpu >= 0 ? Json(key.gpu) : Json(nullptr)},
      {"samples", series.size()},
      {"peak", peak.value},
      {"peak_at_ns", peak.at},
      {"last", series.back().value},
      {"at_ns", at},
      {"value", values}};
}

// CPU time between the first and the last sample of a process; of user and system time the sum.
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
  const Status status = reader.for_each_sample([&](const Sample& sample) {
    const std::string_view name = reader.text(sample.counter);
    const Point point{to_ns(sample.at), sample.value};
    if (is_memory(name)) memory[{sample.process, sample.counter, sample.gpu}].push_back(point);
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
  return Json{{"series", series}, {"processes", processes}};
}

Json devices_json(const TraceReader& reader, const Analysis& analysis) {
  Json devices = Json::array();
  for (const StoredDevice& device : reader.devices()) {
    Json busy = nullptr;
    for (const DeviceUtilization& use : analysis.utilizations) {
      if (use.device != device.id || to_ns(use.span) <= 0) continue;
      busy = static_cast<double>(to_ns(use.kernel)) / static_cast<double>(to_ns(use.span));
    }
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
