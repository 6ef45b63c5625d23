// The devices that work for one loop: sweeps each of them with the state of the loop's threads,
// frame by frame, and sums up the result.
//
// Thread safety: none.
#pragma once

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/attribute/device_sweep.h"
#include "analyzer/attribute/kernel_table.h"
#include "analyzer/attribute/op_series.h"
#include "analyzer/attribute/step_account.h"
#include "analyzer/steps/find_loops.h"

namespace stepscope {

// Ops of a frame by thread, sorted for nesting. Only of threads that launch, except the loop's own.
using OpsByThread = std::map<ThreadId, std::vector<BufferedOp>>;

class LoopDevices {
 public:
  // `threads`: those that may work for the loop, namely its own thread and the threads of its
  // process that have no loop of their own. `devices`: those that work for the loop.
  LoopDevices(const DeviceWork& work, ThreadId loop_thread, const std::set<ThreadId>& threads,
              std::vector<DeviceId> devices);

  // In order; empty: the loop works on the host alone.
  [[nodiscard]] const std::vector<DeviceId>& devices() const { return devices_; }
  // Whether the ops of `thread`, which is not the loop's, matter.
  [[nodiscard]] bool launches(ThreadId thread) const { return launchers_.contains(thread); }

  // `segments` tile `frame`; frames come in order, each starting where the previous one ended. Adds
  // what devices()[i] did to accounts[i], and the kernels it ran to kernels[i] and series[i],
  // unless these are null.
  void sweep(TimeRange frame, std::span<const Segment> segments, const OpsByThread& ops,
             std::vector<StepAccount>& accounts, std::vector<KernelTable>* kernels,
             std::vector<OpSeries>* series = nullptr);

  // How many names share rows of the tables.
  [[nodiscard]] std::int64_t merged_kernels() const { return kernel_names_.merged(); }
  // The phase of the loop at each call of its threads, by the index of the call; kNone outside the
  // frames. sweep() must not be called after it.
  std::vector<PhaseKind> take_call_phases() { return std::move(phases_); }

 private:
  // The calls of a thread that touch a frame; frames come in order.
  class CallWindow {
   public:
    explicit CallWindow(std::span<const HostCall> calls) : calls_(calls) {}
    std::span<const HostCall> advance(TimeRange frame);

   private:
    std::span<const HostCall> calls_;
    std::size_t first_ = 0;  // those before it ended before the frame
  };

  void note_phases(std::span<const HostCall> calls, TimeRange frame);
  std::span<const HostState> states_of(ThreadId thread);

  const DeviceWork& work_;
  const ThreadId loop_thread_;
  std::vector<DeviceId> devices_;
  std::vector<DeviceCursor> cursors_;       // of devices_
  std::map<ThreadId, CallWindow> windows_;  // of the loop's thread and the launchers
  std::set<ThreadId> launchers_;            // without the loop's thread
  std::vector<PhaseKind> phases_;           // of the loop at each call
  TableNames kernel_names_;

  // Of the frame being swept.
  std::map<ThreadId, std::span<const HostCall>> calls_;
  const OpsByThread* ops_ = nullptr;
  std::vector<HostState> loop_states_;
  std::map<ThreadId, std::vector<HostState>> thread_states_;  // computed on first use
};

}  // namespace stepscope
