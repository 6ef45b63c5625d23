// The sweep over one frame of a device: what it did and, while it was idle, what delayed it. These
// are the rules of attribution with a device; docs/attribution.md describes them in prose.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/attribute/host_state.h"

namespace stepscope {

// A stretch of an activity that no earlier activity of its category covers.
struct DeviceRun {
  TimeRange range;
  std::uint32_t call = kNoCall;  // the call that launched it
};

// What a device did in a frame: by category, in order, without overlaps.
struct DeviceRuns {
  std::vector<DeviceRun> compute, communication, copy;
  std::span<const DeviceActivity> begun;  // the activities that began in the frame
};

// Takes the activities of a device frame by frame.
//
// Thread safety: none.
class DeviceCursor {
 public:
  explicit DeviceCursor(std::span<const DeviceActivity> by_start) : activities_(by_start) {}

  // Frames come in order; each starts where the previous one ended.
  DeviceRuns advance(TimeRange frame);
  // The first activity that starts at or after the end of that frame; null: none.
  [[nodiscard]] const DeviceActivity* next() const;

 private:
  std::span<const DeviceActivity> activities_;
  std::size_t index_ = 0;
  std::vector<DeviceActivity> running_;  // began in an earlier frame
};

// A stretch in which nothing changed for a device.
struct DeviceSegment {
  TimeRange range;
  Category category = Category::kHost;
  PhaseKind phase = PhaseKind::kNone;
  StringId label = StringId::kNone;  // kOther: the scope
  // What ran hidden behind it, and the phase of its launch.
  std::optional<PhaseKind> hidden_communication = std::nullopt;
  std::optional<PhaseKind> hidden_copy = std::nullopt;
};

// What the sweep needs to know about the host.
struct HostView {
  const DeviceWork& work;
  // The states of a thread over the frame (host_state.h); those of the loop thread for kNone.
  std::function<std::span<const HostState>(ThreadId)> states_of;
  std::function<PhaseKind(std::uint32_t call)> phase_of;  // the phase of a call
};

// While the device is busy: compute, else communication, else copy. Idle time is attributed to what
// delayed the next activity: up to the call that launched it, to what the calling thread did
// (`states_of`); after that, to the launch. `next` is the first activity after the frame. The
// segments tile the frame.
std::vector<DeviceSegment> sweep_device(TimeRange frame, const DeviceRuns& runs,
                                        const DeviceActivity* next, const HostView& host);

// The part of sweep_device() for idle time: `gap` ends where the activity launched by `call` begins
// (kNoCall: unknown, so the time goes to the loop thread).
void blame_idle_time(TimeRange gap, std::uint32_t call, const HostView& host,
                     std::vector<DeviceSegment>& segments);

}  // namespace stepscope
