#include "viewer-export/device_tracks.h"

#include <algorithm>
#include <utility>

#include "viewer-export/json_text.h"

namespace stepscope {
namespace {

TimeRange range_of(const Activity& activity) {
  return {activity.start, activity.start + activity.dur};
}
TimeRange range_of(const ApiCall& call) { return {call.start, call.start + call.dur}; }

bool drawable(SessionTime start, Duration dur) {
  return to_ns(start) >= 0 && dur >= Duration::zero();
}

// "Device" of "device".
std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

// "Memcpy HtoD (Pageable -> Device)", as the PyTorch profiler writes it.
std::string copy_name(const DeviceSlice& slice) {
  return std::string("Memcpy ") + copy_kind_name(slice.copy) + " (" +
         capitalised(memory_kind_name(slice.source)) + " -> " +
         capitalised(memory_kind_name(slice.target)) + ")";
}

std::string extent_json(const std::array<std::int32_t, 3>& extent) {
  return "[" + std::to_string(extent[0]) + "," + std::to_string(extent[1]) + "," +
         std::to_string(extent[2]) + "]";
}

// The correlation as CUPTI numbered it: correlation_of() without the process.
std::string correlation_json(std::int64_t correlation) {
  return "\"correlation\":" + std::to_string(correlation & 0xFFFFFFFF);
}

std::string_view category_of(DeviceSlice::Kind kind) {
  switch (kind) {
    case DeviceSlice::Kind::kKernel:
      return "kernel";
    case DeviceSlice::Kind::kCopy:
      return "gpu_memcpy";
    default:
      return "gpu_memset";
  }
}

std::string args_of(const DeviceSlice& slice, const std::string& of_stream) {
  std::string json = "{" + of_stream;
  if (slice.correlation != 0) json += "," + correlation_json(slice.correlation);
  if (slice.kind == DeviceSlice::Kind::kKernel) {
    json += ",\"grid\":" + extent_json(slice.grid) + ",\"block\":" + extent_json(slice.block);
  } else {
    json += ",\"bytes\":" + json_integer(slice.bytes);
    // Bytes per ns are GB/s.
    const auto ns = static_cast<double>(to_ns(slice.dur));
    if (ns > 0) {
      json += ",\"memory bandwidth (GB/s)\":" + json_number(static_cast<double>(slice.bytes) / ns);
    }
  }
  return json + "}";
}

}  // namespace

DeviceTracks::DeviceTracks(const TraceReader& reader, const Cut& cut, TrackMap& tracks)
    : reader_(reader), cut_(cut), tracks_(tracks) {
  std::map<ProcessId, const StoredProcess*> processes;
  for (const StoredProcess& process : reader.processes()) processes[process.id] = &process;
  std::map<DeviceId, std::int64_t> groups;
  // In the order of the processes, which is that of the ranks.
  std::vector<StoredDevice> devices = reader.devices();
  std::ranges::stable_sort(devices, {}, [&](const StoredDevice& device) {
    return std::pair(tracks.pid_of(device.process), device.number);
  });
  for (const StoredDevice& device : devices) {
    std::string title = "GPU " + std::to_string(device.number);
    if (!device.name.empty()) title += " · " + device.name;
    // The same GPU in two processes is two devices.
    if (const auto known = processes.find(device.process); known != processes.end()) {
      const StoredProcess& process = *known->second;
      title += " (pid " + std::to_string(process.pid);
      if (process.rank >= 0) title += ", rank " + std::to_string(process.rank);
      title += ")";
    }
    groups[device.id] = tracks.add_group(std::move(title));
  }
  add_streams(reader, groups);
}

void DeviceTracks::add_streams(const TraceReader& reader,
                               const std::map<DeviceId, std::int64_t>& groups) {
  std::map<DeviceId, std::int64_t> numbers;
  for (const StoredDevice& device : reader.devices()) numbers[device.id] = device.number;
  for (const StoredStream& stream : reader.streams()) {
    const auto group = groups.find(stream.device);
    if (group == groups.end()) continue;
    StreamState& state = streams_[stream.id];
    state.group = group->second;
    state.title = "stream " + std::to_string(stream.number);
    state.args = "\"device\":" + json_integer(numbers[stream.device]) +
                 ",\"context\":" + json_integer(stream.context) +
                 ",\"stream\":" + json_integer(stream.number);
  }
}

void DeviceTracks::extend(const TimeRange& range) {
  extent_.start = std::min(extent_.start, range.start);
  extent_.end = std::max(extent_.end, range.end);
}

std::optional<TimeRange> DeviceTracks::extent() const {
  if (activities_ + calls_ == 0) return std::nullopt;
  return extent_;
}

void DeviceTracks::write_call(const ApiCall& call, EventWriter& writer) {
  if (!cut_.has(call.start)) return;
  if (!drawable(call.start, call.dur) || tracks_.thread(call.thread) == nullptr) {
    ++skipped_;
    return;
  }
  CallState& state = calls_of_[call.thread];
  const TimeRange range = range_of(call);
  const std::size_t lane = state.lanes.place(range.start, range.end).value_or(kMaxLanes);
  // If two calls begin together, arrows start at the first or the longer one.
  if (lane > 0 && call.correlation != 0)
    other_lanes_.try_emplace({call.thread, call.correlation, call.start}, lane);
  if (lane == kMaxLanes) {
    ++skipped_;
    return;
  }
  while (state.tracks.size() <= lane) {
    state.tracks.push_back(tracks_.add_lane(
        call.thread, state.tracks.empty() ? "CUDA calls" : "CUDA calls, overlapping"));
  }
  const std::string_view name = writer.names().escaped(call.name);
  const bool runtime = !name.starts_with("cu") || name.starts_with("cuda");
  writer.slice(runtime ? "cuda_runtime" : "cuda_driver", name, range, state.tracks[lane],
               call.correlation != 0 ? "{" + correlation_json(call.correlation) + "}" : "{}");
  extend(range);
  ++calls_;
}

const Track* DeviceTracks::track_for(StreamState& stream, const TimeRange& range) {
  std::size_t at = 0;
  while (at < stream.free_from.size() && stream.free_from[at] > range.start) ++at;
  if (at == kMaxLanes) return nullptr;
  if (at == stream.free_from.size()) {
    stream.free_from.emplace_back();
    stream.tracks.push_back(
        tracks_.add_track(stream.group, stream.title + (at > 0 ? " (overlapping)" : "")));
  }
  stream.free_from[at] = range.end;
  return &stream.tracks[at];
}

void DeviceTracks::write_slice(const DeviceSlice& slice, EventWriter& writer) {
  if (!cut_.has(slice.start)) return;
  const auto known = streams_.find(slice.stream);
  const TimeRange range = range_of(slice);
  const Track* const track = known != streams_.end() && drawable(slice.start, slice.dur)
                                 ? track_for(known->second, range)
                                 : nullptr;
  if (track == nullptr) {
    ++skipped_;
    return;
  }
  std::string name = slice.kind == DeviceSlice::Kind::kCopy ? copy_name(slice) : "Memset (Device)";
  if (slice.kind == DeviceSlice::Kind::kKernel) name = writer.names().escaped(slice.name);
  writer.slice(category_of(slice.kind), name, range, *track, args_of(slice, known->second.args));
  write_arrow(slice, *track, writer);
  extend(range);
  ++activities_;
}

const Track* DeviceTracks::track_of_call(const DeviceSlice& slice) const {
  const auto calls = calls_of_.find(slice.call.thread);
  if (calls == calls_of_.end()) return nullptr;
  if (!cut_.has(slice.call.start) || !drawable(slice.call.start, slice.call.dur)) return nullptr;
  const auto other = other_lanes_.find({slice.call.thread, slice.correlation, slice.call.start});
  const std::size_t lane = other != other_lanes_.end() ? other->second : 0;
  const std::vector<Track>& tracks = calls->second.tracks;
  return lane < tracks.size() ? &tracks[lane] : nullptr;
}

// An arrow needs a drawn slice of nonzero length at each end.
void DeviceTracks::write_arrow(const DeviceSlice& slice, const Track& track, EventWriter& writer) {
  if (slice.call.dur <= Duration::zero() || slice.dur <= Duration::zero()) return;
  if (slice.call.start > slice.start) return;
  if (const Track* const from = track_of_call(slice); from != nullptr)
    writer.launch_arrow(++arrows_, slice.call.start, *from, slice.start, track);
}

Status DeviceTracks::write(EventWriter& writer) {
  const Status status = reader_.for_each_call_by_start([&](const ApiCall& call) {
    write_call(call, writer);
    return writer.status().ok();
  });
  if (!status.ok()) return status;
  return reader_.for_each_slice_by_start([&](const DeviceSlice& slice) {
    write_slice(slice, writer);
    return writer.status().ok();
  });
}

}  // namespace stepscope
