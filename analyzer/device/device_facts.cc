#include "analyzer/device/device_facts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "analyzer/device/occupancy.h"
#include "analyzer/device/tensor_cores.h"
#include "store/merge_ranges.h"

namespace stepscope {
namespace {

TimeRange range_of(const Activity& activity) {
  return {activity.start, activity.start + activity.dur};
}

class Collector {
 public:
  Collector(const RecordedRun& recording, const DeviceWork& work)
      : recording_(recording), work_(work), launched_(work.launchers().size(), 0) {
    for (const StoredStream& stream : recording.streams) device_of_[stream.id] = stream.device;
  }

  Status read() {
    Status status = for_each(recording_.for_each_kernel, [this](const Kernel& kernel) {
      take(kernel);
      take_shape(kernel);
    });
    if (status.ok())
      status = for_each(recording_.for_each_memset, [this](const Memset& memset) { take(memset); });
    std::int64_t row = 0;
    if (status.ok())
      status = for_each(recording_.for_each_copy, [&](const Copy& copy) {
        take(copy);
        take_overlap(copy, ++row);
      });
    return status;
  }

  DeviceUse use(const CallOrigins& origins, const PhaseOfCall& phase_of) {
    add_launches(origins, phase_of);
    add_names();
    add_occupancies();
    add_streams();
    return std::move(use_);
  }

 private:
  template <typename Event, typename Visit>
  static Status for_each(const RecordedRun::Source<Event>& source, Visit visit) {
    return source ? source(visit) : Status();
  }

  void take(const Activity& activity);
  void take_shape(const Kernel& kernel);
  void take_overlap(const Copy& copy, std::int64_t row);
  const std::vector<TimeRange>& kernels_of(DeviceId device);
  void add_launches(const CallOrigins& origins, const PhaseOfCall& phase_of);
  void add_names();
  void add_occupancies();
  void add_streams();

  const RecordedRun& recording_;
  const DeviceWork& work_;
  std::map<StreamId, DeviceId> device_of_;
  std::vector<std::int64_t> launched_;  // activities of each of DeviceWork::launchers()
  std::map<StreamId, std::vector<TimeRange>> streams_;
  std::map<DeviceId, std::vector<TimeRange>> kernels_;  // when any ran
  // How long kernels of each shape ran.
  std::map<DeviceId, std::map<BlockNeeds, std::map<StringId, Duration>>> shapes_;
  std::unordered_set<StringId> names_;
  DeviceUse use_;
  DeviceFacts& facts_ = use_.facts;
};

void Collector::take(const Activity& activity) {
  streams_[activity.stream].push_back(range_of(activity));
  if (const auto* launcher = work_.launcher_of(activity.correlation))
    ++launched_[static_cast<std::size_t>(launcher - work_.launchers().data())];
}

void Collector::take_shape(const Kernel& kernel) {
  names_.insert(kernel.name);
  const auto& [x, y, z] = kernel.block;
  const BlockNeeds block{std::int64_t{x} * y * z, kernel.registers,
                         kernel.static_shared_bytes + kernel.dynamic_shared_bytes};
  shapes_[device_of_[kernel.stream]][block][kernel.name] += kernel.dur;
}

const std::vector<TimeRange>& Collector::kernels_of(DeviceId device) {
  const auto [it, added] = kernels_.try_emplace(device);
  if (!added) return it->second;
  std::vector<TimeRange> ranges;
  for (const DeviceActivity& activity : work_.activities_of(device)) {
    if (activity.category != Category::kCopy) ranges.push_back({activity.start, activity.end});
  }
  it->second = merge_ranges(std::move(ranges));
  return it->second;
}

void Collector::take_overlap(const Copy& copy, std::int64_t row) {
  const DeviceId device = device_of_[copy.stream];
  const Duration kernel = covered(kernels_of(device), range_of(copy));
  facts_.overlaps.push_back({row, kernel});
  use_.copies[device].push_back(
      {copy.start, copy.dur, kernel, copy.bytes, copy.stream, copy.kind, copy.source, copy.target});
}

// `rows` are sorted by api_call, which is not the order of the launchers.
template <typename Row>
const Row* find_call(const std::vector<Row>& rows, std::int64_t api_call) {
  const auto it =
      std::lower_bound(rows.begin(), rows.end(), api_call,
                       [](const Row& row, std::int64_t number) { return row.api_call < number; });
  return it == rows.end() || it->api_call != api_call ? nullptr : &*it;
}

void Collector::add_launches(const CallOrigins& origins, const PhaseOfCall& phase_of) {
  for (std::size_t i = 0; i < launched_.size(); ++i) {
    if (launched_[i] == 0) continue;
    const DeviceWork::Launcher& launcher = work_.launchers()[i];
    Launch launch{launcher.correlation, work_.call(launcher.call).row, phase_of(launcher.call)};
    launch.activities = launched_[i];
    if (const CallOp* op = find_call(origins.ops, launch.api_call)) launch.op = op->op;
    if (const CallNode* node = find_call(origins.nodes, launch.api_call)) {
      launch.node = node->node;
      launch.forward_op = node->forward_op;
    }
    facts_.launches.push_back(launch);
  }
}

void Collector::add_names() {
  for (const StringId name : names_) {
    const auto tensor_cores = uses_tensor_cores(recording_.text(name));
    if (tensor_cores) facts_.kernel_names.push_back({name, *tensor_cores});
  }
  std::sort(facts_.kernel_names.begin(), facts_.kernel_names.end(),
            [](const KernelName& a, const KernelName& b) { return a.name < b.name; });
}

void Collector::add_occupancies() {
  std::map<std::pair<DeviceId, StringId>, Duration> whole;
  for (const StoredDevice& device : recording_.devices) {
    const auto limits = limits_of(device);
    if (!limits) continue;
    for (const auto& [block, kernels] : shapes_[device.id]) {
      const auto fits = theoretical_occupancy(*limits, block);
      if (!fits) continue;
      facts_.occupancies.push_back({device.id, block.threads, block.registers, block.shared_bytes,
                                    fits->blocks, fits->warps, fits->share,
                                    limit_name(fits->limited_by)});
      for (const auto& [name, dur] : kernels) {
        whole[{device.id, name}] += dur;
        use_.occupancy[{device.id, name}] += fits->share * static_cast<double>(to_ns(dur));
      }
    }
  }
  for (auto& [kernel, weighted] : use_.occupancy)
    weighted /= std::max(1.0, static_cast<double>(to_ns(whole[kernel])));
}

void Collector::add_streams() {
  std::map<DeviceId, TimeRange> spans;
  for (const auto& [stream, ranges] : streams_) {
    for (const TimeRange& range : ranges) {
      TimeRange& span = spans.try_emplace(device_of_[stream], range).first->second;
      span = {std::min(span.start, range.start), std::max(span.end, range.end)};
    }
  }
  for (auto& [stream, ranges] : streams_) {
    const TimeRange span = spans[device_of_[stream]];
    const auto runs = merge_ranges(std::move(ranges));
    facts_.streams.push_back({stream, covered(runs, span), span.length()});
  }
}

}  // namespace

Result<DeviceUse> collect_device_use(const RecordedRun& recording, const DeviceWork& work,
                                     const CallOrigins& origins, const PhaseOfCall& phase_of) {
  if (recording.devices.empty()) return DeviceUse();
  Collector collector(recording, work);
  if (Status status = collector.read(); !status.ok()) return status;
  return collector.use(origins, phase_of);
}

}  // namespace stepscope
