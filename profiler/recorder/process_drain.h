// Drains the region of one process into a store: ring after ring, slots to events, losses to rows.
//
// Thread safety: none; one recorder's. The program on the other side runs on meanwhile, and may
// write anything: nothing in the region is believed without a look.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/recorder/decoder.h"
#include "profiler/recorder/device_drain.h"
#include "profiler/ring/clock.h"
#include "profiler/ring/region.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

// What has been drained so far; for whoever watches a run.
struct DrainTotals {
  std::int64_t ops = 0;
  std::int64_t phases = 0;
  std::int64_t device = 0;  // calls, kernels, copies, …
  std::int64_t lost = 0;
  Duration input{0};  // in waits for batches that came, of all threads

  [[nodiscard]] std::int64_t events() const { return ops + phases + device + lost; }
};

class ProcessDrain final : public DecodeContext {
 public:
  // `writer` and `clock` outlive it.
  ProcessDrain(const Region& region, ProcessId process, TraceWriter& writer, const ClockMap& clock);
  ~ProcessDrain() override;
  ProcessDrain(const ProcessDrain&) = delete;
  ProcessDrain& operator=(const ProcessDrain&) = delete;

  // Leaves out what lies in the rings and was lost so far: of an earlier recording.
  Status skip_what_is_there();
  // Writes all that was published since the last call.
  Status drain();
  // After the program's death: also what a device's buffers hold that were not handed over.
  Status drain_unfinished();
  // The store takes nothing any more: what comes from now on, and lies in the rings, is only
  // counted.
  void discard_from_now_on();
  // After drain(): some ring was a quarter full; come back soon.
  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] const DrainTotals& totals() const { return totals_; }

  // Memory of tensors on the CPU since the process was joined.
  struct Memory {
    std::int64_t allocations = 0;
    std::int64_t allocated_bytes = 0;
    std::array<std::int64_t, kMemoryOwnerCount> held_bytes{};  // by MemoryOwner
  };
  [[nodiscard]] Memory tensor_memory() const;

  // The ops that are open now. After the program's death: what it died in.
  [[nodiscard]] std::vector<UnfinishedOp> open_ops() const;

 private:
  struct Ring;

  StringId intern(std::string_view text) override;
  ThreadId thread_of_torch_id(std::uint32_t torch_id) override;

  [[nodiscard]] std::uint32_t ring_count() const;
  // The row of a thread that got a ring, or made a call of CUDA.
  Result<ThreadId> thread_with_ring(const Thread& thread);
  Result<ThreadId> thread_of_tid(std::uint32_t tid);
  Status drain_device(bool unfinished);
  Status drain_ring(std::uint32_t index);
  // The ring's state here; a new one when another thread has it. nullptr: nothing is in use there.
  Result<Ring*> known_ring(std::uint32_t index);
  Status update_torch_id(Ring& ring);
  Status write_decoded();
  Status store_losses(Ring& ring);
  Status store_loss(ThreadId thread, const char* kind, std::int64_t total, std::int64_t& stored);

  const Region region_;
  const ProcessId process_;
  TraceWriter& writer_;
  const ClockMap& clock_;
  std::vector<std::unique_ptr<Ring>> rings_;  // by index; null where none is in use
  std::unordered_map<std::uint32_t, ThreadId> threads_by_torch_id_;
  // By the system's number: the last that had it. A row made for a call waits for the thread's
  // ring.
  struct KnownThread {
    ThreadId id = ThreadId::kNone;
    bool has_ring = false;
  };
  std::unordered_map<std::uint32_t, KnownThread> threads_by_tid_;
  DeviceDrain device_;
  DecodedEvents decoded_;
  DrainTotals totals_;
  std::int64_t refused_before_ = 0;
  std::int64_t stored_refused_ = 0;
  std::int64_t failures_before_ = 0;
  std::int64_t stored_failures_ = 0;
  bool busy_ = false;
  bool discarding_ = false;
};

}  // namespace stepscope
