// Finds the forward op that a backward node belongs to, among the latest forward ops.
//
// libtorch gives a backward node the sequence number and the thread of the forward op that created
// it. Of nested ops with the same number, the last to start created the node. One fixed table
// serves all threads, so that memory does not grow with the run: an op is evicted when another, of
// any thread, takes its slot; one of its own thread does so after kSlots more numbers, which is
// several steps of a large model. Evicted ops get no arrow.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/events.h"

namespace stepscope {

class FlowTable {
 public:
  static constexpr std::size_t kSlots = std::size_t{1} << 16;

  struct Forward {
    std::int64_t sequence = -1;
    std::uint64_t origin = 0;
    ThreadId thread = ThreadId::kNone;
    SessionTime start;
  };

  // The thread of a sequence number: libtorch numbers its threads per process.
  static std::uint64_t origin_of(ProcessId process, std::uint32_t torch_id) {
    return static_cast<std::uint64_t>(process) << 32 | torch_id;
  }

  // `origin`: that of the thread of `op`, which has a sequence number.
  void add_forward(const Op& op, std::uint64_t origin) {
    Forward& slot = slot_of(origin, op.sequence);
    const bool outer =
        slot.sequence == op.sequence && slot.origin == origin && op.start < slot.start;
    if (!outer) slot = {op.sequence, origin, op.thread, op.start};
  }

  // The forward op of the backward node `op`, only once: a second node with its number gets none.
  // `origin`: that of the thread that ran the forward op.
  std::optional<Forward> take_forward(const Op& op, std::uint64_t origin) {
    Forward& slot = slot_of(origin, op.sequence);
    if (slot.sequence != op.sequence || slot.origin != origin) return std::nullopt;
    if (slot.start > op.start) return std::nullopt;  // a later op that reuses the number
    const Forward forward = slot;
    slot = {};
    return forward;
  }

 private:
  // Neighbouring numbers get neighbouring slots; the threads' ranges are spread by the golden
  // ratio.
  Forward& slot_of(std::uint64_t origin, std::int64_t sequence) {
    const std::uint64_t spread = origin * std::uint64_t{0x9E3779B97F4A7C15} >> 48;
    return slots_[(static_cast<std::uint64_t>(sequence) + spread) % kSlots];
  }

  std::vector<Forward> slots_ = std::vector<Forward>(kSlots);
};

}  // namespace stepscope
