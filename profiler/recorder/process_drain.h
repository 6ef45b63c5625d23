// Drains the region of one process into a store: ring after ring, slots to events, losses to rows.
//
// Thread safety: none; used by one recorder. The program keeps running meanwhile and may write
// anything: all data in the region is checked before use.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/recorder/decoder.h"
#include "profiler/recorder/device_drain.h"
#include "profiler/recorder/ring_backlog.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/region.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// The totals drained so far, for progress displays.
struct DrainTotals {
  std::int64_t ops = 0;
  std::int64_t phases = 0;
  std::int64_t device = 0;  // calls, kernels, copies, …
  std::int64_t lost = 0;
  Duration input{0};  // waits for batches that came, over all threads

  [[nodiscard]] std::int64_t events() const { return ops + phases + device + lost; }
};

class ProcessDrain final : public DecodeContext {
 public:
  // `writer` and `clock` outlive it. `backlog`: what was already collected from `region`, or null.
  ProcessDrain(const Region& region, ProcessId process, TraceWriter& writer, const ClockMap& clock,
               std::shared_ptr<RingBacklog> backlog = nullptr);
  ~ProcessDrain() override;
  ProcessDrain(const ProcessDrain&) = delete;
  ProcessDrain& operator=(const ProcessDrain&) = delete;

  // Called with the native stacks of a thread (by its system id) as they are drained.
  using OnStacks = std::function<void(pid_t tid, std::vector<NativeStack>&& stacks)>;
  void set_on_stacks(OnStacks on_stacks) { on_stacks_ = std::move(on_stacks); }

  // Discards the contents of the rings and the losses so far, which belong to an earlier recording.
  Status discard_backlog();
  // Writes everything published since the last call.
  Status drain();
  // The same, but takes at most a few hundred thousand events from each ring; see behind().
  Status drain_some();
  // After the program's death: also writes the device buffers that were not handed over.
  Status drain_unfinished();
  // The store has failed: from now on, events, including those in the rings, are only counted.
  void discard_from_now_on();
  // The region is about to be unmapped: from now on drain() does nothing, and only totals() may be
  // used.
  void close() noexcept;
  // After drain(): whether some ring was a quarter full, so that the next drain should come soon.
  [[nodiscard]] bool busy() const { return busy_; }
  // After drain_some(): whether there is more to drain at once.
  [[nodiscard]] bool behind() const { return behind_; }
  // For a RingCollector, which empties the rings between drains. close() closes it.
  [[nodiscard]] std::shared_ptr<RingBacklog> backlog() const { return backlog_; }
  [[nodiscard]] const DrainTotals& totals() const { return totals_; }
  [[nodiscard]] ProcessId process() const { return process_; }

  // What the Python module said of this rank's process groups: "dp=1/4,tp=0/2"; "": nothing.
  [[nodiscard]] const std::string& groups() const { return groups_; }
  // The UUIDs of its GPUs, by the process's numbers.
  [[nodiscard]] const std::map<std::uint32_t, std::string>& gpu_uuids() const {
    return device_.uuids();
  }

  // CPU memory of tensors since the process joined the recording.
  struct Memory {
    std::int64_t allocations = 0;
    std::int64_t allocated_bytes = 0;
    std::array<std::int64_t, kMemoryOwnerCount> held_bytes{};  // by MemoryOwner
  };
  [[nodiscard]] Memory tensor_memory() const;
  // The memory of device `number`, which is less than kMaxDevices.
  [[nodiscard]] const DeviceMemory& device_memory(std::size_t number) const {
    return region_.header->device_memory[number];
  }

  // The ops open now. After the program's death: the ops that it died in.
  [[nodiscard]] std::vector<UnfinishedOp> open_ops() const;

 private:
  struct Ring;

  StringId intern(std::string_view text) override;
  ThreadId thread_of_torch_id(std::uint32_t torch_id) override;

  [[nodiscard]] std::uint32_t ring_count() const;
  // The row of a thread that got a ring, or of one that made a CUDA call.
  Result<ThreadId> thread_with_ring(const Thread& thread);
  Result<ThreadId> thread_of_tid(std::uint32_t tid);
  Status drain_device(bool unfinished);
  Status drain(std::uint64_t most_slots);
  Status drain_ring(std::uint32_t index, std::uint64_t most_slots);
  // Our state for the ring; a new one if another thread has taken it over. nullptr: not in use.
  Result<Ring*> known_ring(std::uint32_t index);
  Status update_torch_id(Ring& ring);
  Status write(Ring& ring);
  Status write_decoded(const Ring& ring);
  Status store_losses(Ring& ring);
  Status store_loss(ThreadId thread, const char* kind, std::int64_t total, std::int64_t& stored);

  Region region_;  // none: closed
  const std::shared_ptr<RingBacklog> backlog_;
  const ProcessId process_;
  TraceWriter& writer_;
  const ClockMap& clock_;
  std::vector<std::unique_ptr<Ring>> rings_;  // by index; null where none is in use
  std::unordered_map<std::uint32_t, ThreadId> threads_by_torch_id_;
  // By system tid: the last thread with that tid. A row created for a CUDA call also serves the
  // thread's ring.
  struct KnownThread {
    ThreadId id = ThreadId::kNone;
    bool has_ring = false;
  };
  std::unordered_map<std::uint32_t, KnownThread> threads_by_tid_;
  DeviceDrain device_;
  DecodedEvents decoded_;
  OnStacks on_stacks_;
  std::string groups_;
  DrainTotals totals_;
  std::int64_t refused_before_ = 0;
  std::int64_t stored_refused_ = 0;
  std::int64_t failures_before_ = 0;
  std::int64_t stored_failures_ = 0;
  bool busy_ = false;
  bool behind_ = false;
  bool discarding_ = false;
};

}  // namespace stepscope
