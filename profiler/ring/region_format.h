// The memory of one recorded process: a header, an area for device activity (cupti/device_area.h),
// then the rings of its threads, evenly spaced. The program writes events and describes itself; the
// recorder, which may be another process, writes its instructions. docs/architecture.md describes
// the format in prose.
//
// Position independent, like a ring. The recorder's side creates it, zeroed and sparse: a ring
// takes no memory before a thread uses it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "store/events.h"

namespace stepscope {

// Which steps are recorded op by op. All zero: every step.
struct RecordPlan {
  // [first_step, last_step], counted from 1; last_step 0: to the end.
  std::int64_t first_step;
  std::int64_t last_step;
  // A schedule, if active > 0: skip `wait` steps, then skip `warmup` more, then record `active`.
  // The cycle runs `repeat` times; 0: until the end.
  std::int64_t wait;
  std::int64_t warmup;
  std::int64_t active;
  std::int64_t repeat;
  std::uint32_t phases_only;  // 1: no ops in any step
  std::uint32_t shapes;       // 1: input shapes too
  // The largest share of the run's time that recording may cost, in millionths: ops are
  // recorded in some steps only (session/op_budget.h). 0: in every step of the window.
  std::uint32_t budget_ppm;
  // Ticks between two native stack samples (ring/stack_taker.h); 0: none are taken.
  std::uint32_t stack_period_ticks;
};

// Whether ops are recorded in some steps only, which are few as a rule.
inline bool has_ops_in_some_steps(const RecordPlan& plan) {
  return plan.budget_ppm > 0 || plan.last_step > 0 || plan.active > 0;
}

// RecordPlan::budget_ppm for a share of the run's time, from 0 to 1. No share above 0 becomes 0.
inline std::uint32_t budget_ppm(double share) {
  if (!(share > 0)) return 0;
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(share * 1e6 + 0.5));
}

// Overrides the plan from outside, while the program runs.
enum class OpsSwitch : std::uint32_t { kPlan, kOn, kOff };

inline constexpr std::uint32_t kNoRingsMapped = 0xffffffff;

// Offset and size of the DeviceArea (cupti/device_area.h).
inline constexpr std::uint64_t kDeviceAreaOffset = 4096;
inline constexpr std::uint64_t kDeviceAreaBytes = (std::uint64_t{34} << 20) + 4096;

inline constexpr std::uint32_t kRegionMagic = 0x47525253;  // "SRRG"
inline constexpr std::uint32_t kRegionVersion = 11;

// A libtorch setting that a program may turn on and off.
enum class TorchSwitch : std::uint32_t { kUnknown, kOff, kOn };

// The memory that the process holds on a device, as libtorch's allocator last reported it.
struct DeviceMemory {
  std::atomic<std::int64_t> allocated;  // bytes, for tensors
  std::atomic<std::int64_t> reserved;   // bytes, held by the allocator
  std::atomic<std::uint64_t> reports;   // 0: never reported
  // The part of `allocated` by owner, in blocks of at least PointerTable::kMin.
  std::atomic<std::int64_t> held_bytes[kMemoryOwnerCount];
};

inline constexpr std::size_t kMaxDevices = 16;

struct RegionHeader {
  // Constant once the program has the region.
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slot_count;     // of each ring
  std::uint32_t ring_capacity;  // the most threads at one time
  std::uint64_t rings_offset;
  std::uint64_t ring_stride;
  RecordPlan plan;
  std::uint64_t patience_ticks;     // without a heartbeat for this long, the recorder is gone
  std::int64_t monotonic_shift_ns;  // the recorder's CLOCK_MONOTONIC minus the program's

  // Written by the recorder.
  alignas(64) std::atomic<OpsSwitch> ops_switch;
  // Incremented with each poll of the rings; 0: the recorder has stopped polling. A count, not a
  // time, because the program's clock may differ from the recorder's.
  std::atomic<std::uint64_t> heartbeat;

  // Written by the program.
  alignas(64) std::atomic<std::uint32_t> ring_count;  // rings [0, ring_count) exist
  std::atomic<std::uint32_t> ops_enabled;             // 1: the op callbacks are in place now
  // With a budget, estimates so far, in millionths: the share of steps whose ops were recorded, and
  // the share of the time that recording cost.
  std::atomic<std::uint32_t> op_steps_ppm;
  std::atomic<std::uint32_t> cost_ppm;
  std::atomic<std::uint64_t> refused_threads;  // threads that found no ring
  std::atomic<std::uint64_t> failures;         // exceptions caught in the profiler's code
  std::atomic<std::int64_t> step;              // the current step of its loop; 0: none has begun
  std::atomic<std::uint32_t> exited;           // 1 + the exit code it requested; 0: not yet
  std::atomic<TorchSwitch> cudnn_benchmark;    // when a step, or an op with a new name, last began
  // The system id of the thread that now waits for a batch; 0: none. With several loops, any one of
  // them.
  std::atomic<std::uint32_t> waiting_tid;
  // The process that makes the batch it waits for; 0: not known.
  std::atomic<std::uint32_t> awaited_pid;
  // How many rings the program could map, if its address space is limited; 0: not known yet.
  std::atomic<std::uint32_t> mapped_rings;
  // Written by this process and those forked from it: the heartbeat at which one of them gave up
  // waiting for the recorder. While the heartbeat is still the same, no other needs to wait.
  std::atomic<std::uint64_t> silent_beat;
  std::atomic<std::uint32_t> described;     // 1: the fields below are written
  std::int64_t leaf_op_overhead_ns;         // -1: not calibrated
  char torch_version[32];                   // "": no libtorch
  char notice[512];                         // one line for the user, or ""
  DeviceMemory device_memory[kMaxDevices];  // by device number
};

}  // namespace stepscope
