// What a thread that launches device work was doing, for attributing the idle time of a device
// (docs/attribution.md, "With a device").
#pragma once

#include <span>
#include <vector>

#include "analyzer/attribute/device_work.h"
#include "analyzer/attribute/op_run.h"
#include "analyzer/attribute/segment.h"

namespace stepscope {

// category: kInput, kSync, kAllocation, kCommunication (waiting for a collective of the host),
// kOther (with its label), kLaunch or kHost.
struct HostState {
  TimeRange range;
  Category category = Category::kHost;
  PhaseKind phase = PhaseKind::kNone;
  StringId label = StringId::kNone;

  friend bool operator==(const HostState&, const HostState&) = default;
};

// The states of the loop thread: they tile the segments. Waiting for input is input, whatever runs
// inside the wait; otherwise an API call decides; otherwise an op of any kind is kLaunch, since its
// purpose on the host is to submit work to the device.
std::vector<HostState> loop_states(std::span<const Segment> segments,
                                   std::span<const HostCall> calls);

// The states of another thread over the same time. Its own calls, ops and labelled ranges count;
// with nothing open it inherits from the loop thread, and so do the phases.
std::vector<HostState> thread_states(std::span<const HostState> loop, std::span<const OpRun> runs,
                                     std::span<const HostCall> calls);

}  // namespace stepscope
