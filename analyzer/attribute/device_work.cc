#include "analyzer/attribute/device_work.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace stepscope {
namespace {

// Without suffixes such as _v2 and _ptsz: driver calls that differ only in these wait alike.
constexpr std::array<std::string_view, 6> kSyncCalls = {
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
    "cuCtxSynchronize",      "cuStreamSynchronize",   "cuEventSynchronize"};

constexpr std::array<std::string_view, 14> kAllocationCalls = {
    "cudaMalloc",   "cudaFree",  "cudaHostAlloc",  "cudaHostRegister",  "cudaHostUnregister",
    "cuMemAlloc",   "cuMemFree", "cuMemHostAlloc", "cuMemHostRegister", "cuMemCreate",
    "cuMemRelease", "cuMemMap",  "cuMemUnmap",     "cuMemSetAccess"};

template <std::size_t kSize>
bool begins_with_any(std::string_view name, const std::array<std::string_view, kSize>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// cudaMemcpy, cudaMemcpy2D, cuMemcpyHtoD_v2 return when the copy is done. Copies within or between
// devices return earlier, but the name does not always show that.
bool is_blocking_copy(std::string_view name) {
  const bool copies = name.starts_with("cudaMemcpy") || name.starts_with("cuMemcpy");
  return copies && name.find("Async") == std::string_view::npos;
}

// Caches a function of a name, which is called once per name.
template <typename Value, typename Function>
class ByName {
 public:
  ByName(const RecordedRun& recording, Function function)
      : text_(recording.text), function_(function) {}

  Value operator()(StringId name) {
    const auto [it, added] = known_.try_emplace(name);
    if (added) it->second = function_(text_(name));
    return it->second;
  }

 private:
  const std::function<std::string_view(StringId)>& text_;
  Function function_;
  std::unordered_map<StringId, Value> known_;
};

bool by_start(const DeviceActivity& a, const DeviceActivity& b) { return a.start < b.start; }

}  // namespace

CallClass call_class(std::string_view name) {
  if (begins_with_any(name, kSyncCalls) || is_blocking_copy(name)) return CallClass::kSync;
  return begins_with_any(name, kAllocationCalls) ? CallClass::kAllocation : CallClass::kLaunch;
}

Category kernel_category(std::string_view name) {
  const std::string_view function = name.substr(0, name.find('('));
  for (const std::string_view library : {"nccl", "rccl", "nvshmem"}) {
    if (function.find(library) != std::string_view::npos) return Category::kCommunication;
  }
  return Category::kCompute;
}

// Reads the calls, then the activities, which look up their calls.
class DeviceWork::Builder {
 public:
  explicit Builder(const RecordedRun& recording) : recording_(recording) {
    for (const StoredStream& stream : recording.streams) device_of_[stream.id] = stream.device;
  }

  Status read_calls(DeviceWork& work);
  Status read_activities(DeviceWork& work);

 private:
  void sort_calls(DeviceWork& work, std::vector<std::int64_t>& correlations);
  [[nodiscard]] std::uint32_t launch_of(const DeviceWork& work, std::int64_t correlation);
  // `describe` sets the fields specific to the kind: the category, and the name if it has one.
  template <typename Event, typename Describe>
  Status read_kind(const RecordedRun::Source<Event>& source, DeviceWork& work, Describe describe);

  const RecordedRun& recording_;
  std::unordered_map<StreamId, DeviceId> device_of_;
  std::size_t hint_ = 0;  // activities are recorded roughly in the order of their launches
};

Status DeviceWork::Builder::read_calls(DeviceWork& work) {
  if (!recording_.for_each_api_call) return {};
  ByName<CallClass, CallClass (*)(std::string_view)> class_of(recording_, call_class);
  std::vector<std::int64_t> correlations;
  Status status = recording_.for_each_api_call([&](const ApiCall& call) {
    correlations.push_back(call.correlation);
    work.calls_.push_back({call.start, call.start + call.dur, call.thread,
                           static_cast<std::uint32_t>(correlations.size()), class_of(call.name)});
  });
  if (status.ok()) sort_calls(work, correlations);
  return status;
}

void DeviceWork::Builder::sort_calls(DeviceWork& work, std::vector<std::int64_t>& correlations) {
  auto& calls = work.calls_;
  std::stable_sort(calls.begin(), calls.end(), [](const HostCall& a, const HostCall& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Span& span = work.threads_.try_emplace(calls[i].thread, Span{i, i}).first->second;
    span.end = i + 1;
    const std::int64_t correlation = correlations[calls[i].row - 1];
    if (correlation != 0) work.launchers_.push_back({correlation, static_cast<std::uint32_t>(i)});
  }
  // A runtime call and the driver call inside it may share a number: the outer one counts.
  auto& launchers = work.launchers_;
  std::sort(launchers.begin(), launchers.end(), [&](const Launcher& a, const Launcher& b) {
    if (a.correlation != b.correlation) return a.correlation < b.correlation;
    return calls[a.call].start < calls[b.call].start;
  });
  const auto same = [](const Launcher& a, const Launcher& b) {
    return a.correlation == b.correlation;
  };
  launchers.erase(std::unique(launchers.begin(), launchers.end(), same), launchers.end());
}

std::uint32_t DeviceWork::Builder::launch_of(const DeviceWork& work, std::int64_t correlation) {
  if (correlation == 0) return kNoCall;
  const auto known = [&](std::size_t at) {
    return at < work.launchers_.size() && work.launchers_[at].correlation == correlation;
  };
  if (!known(hint_) && !known(++hint_)) {
    const Launcher* const found = work.launcher_of(correlation);
    if (found == nullptr) return kNoCall;
    hint_ = static_cast<std::size_t>(found - work.launchers_.data());
  }
  return work.launchers_[hint_].call;
}

template <typename Event, typename Describe>
Status DeviceWork::Builder::read_kind(const RecordedRun::Source<Event>& source, DeviceWork& work,
                                      Describe describe) {
  if (!source) return {};
  return source([&](const Event& event) {
    const auto device = device_of_.find(event.stream);
    if (device == device_of_.end() || event.dur.count() <= 0) return;  // it took no time
    DeviceActivity activity{event.start, event.start + event.dur,
                            launch_of(work, event.correlation)};
    describe(event, activity);
    work.devices_[device->second].push_back(activity);
  });
}

Status DeviceWork::Builder::read_activities(DeviceWork& work) {
  ByName<Category, Category (*)(std::string_view)> category_of(recording_, kernel_category);
  const auto kernel = [&](const Kernel& event, DeviceActivity& activity) {
    activity.category = category_of(event.name);
    activity.name = event.name;
  };
  const auto copy = [](const Activity&, DeviceActivity& activity) {
    activity.category = Category::kCopy;
  };
  const auto memset = [](const Activity&, DeviceActivity& activity) {
    activity.category = Category::kCopy;
    activity.memset = true;
  };
  Status status = read_kind(recording_.for_each_kernel, work, kernel);
  if (status.ok()) status = read_kind(recording_.for_each_copy, work, copy);
  if (status.ok()) status = read_kind(recording_.for_each_memset, work, memset);
  if (!status.ok()) return status;
  for (auto& [device, activities] : work.devices_) {
    std::stable_sort(activities.begin(), activities.end(), by_start);
    std::set<ThreadId>& callers = work.callers_[device];
    for (const DeviceActivity& activity : activities) {
      if (activity.call != kNoCall) callers.insert(work.calls_[activity.call].thread);
    }
  }
  return {};
}

Result<DeviceWork> DeviceWork::read(const RecordedRun& recording) {
  DeviceWork work;
  if (recording.devices.empty()) return work;
  Builder builder(recording);
  if (Status status = builder.read_calls(work); !status.ok()) return status;
  if (Status status = builder.read_activities(work); !status.ok()) return status;
  return work;
}

const DeviceWork::Launcher* DeviceWork::launcher_of(std::int64_t correlation) const {
  const auto it = std::lower_bound(
      launchers_.begin(), launchers_.end(), correlation,
      [](const Launcher& launcher, std::int64_t number) { return launcher.correlation < number; });
  return it == launchers_.end() || it->correlation != correlation ? nullptr : &*it;
}

std::span<const DeviceActivity> DeviceWork::activities_of(DeviceId device) const {
  const auto it = devices_.find(device);
  return it == devices_.end() ? std::span<const DeviceActivity>() : std::span(it->second);
}

std::span<const HostCall> DeviceWork::calls_of(ThreadId thread) const {
  const auto it = threads_.find(thread);
  if (it == threads_.end()) return {};
  return std::span(calls_).subspan(it->second.begin, it->second.end - it->second.begin);
}

std::vector<DeviceId> DeviceWork::devices_of(const std::set<ThreadId>& threads) const {
  std::vector<DeviceId> result;
  for (const auto& [device, callers] : callers_) {
    const bool used = std::any_of(callers.begin(), callers.end(),
                                  [&](ThreadId thread) { return threads.contains(thread); });
    if (used) result.push_back(device);
  }
  return result;
}

bool DeviceWork::calls_are_unknown(DeviceId device) const {
  const auto known = callers_.find(device);
  return known != callers_.end() && known->second.empty();
}

}  // namespace stepscope
