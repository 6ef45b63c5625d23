// Decodes ring slots into the store's events.
//
// Does not trust the ring: malformed slots are counted and skipped.
// Thread safety: none; only the recorder uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/ring/clock.h"
#include "profiler/ring/ring.h"
#include "store/events.h"

namespace stepscope {

// The decoder's interface to the store and to the other threads.
class DecodeContext {
 public:
  virtual ~DecodeContext() = default;
  virtual StringId intern(std::string_view text) = 0;
  // kNone if no thread with that torch id is known.
  virtual ThreadId thread_of_torch_id(std::uint32_t torch_id) = 0;
};

// A stretch (a time of a thread without an event) and the call stacks at its two ends, innermost
// frame first. Each address lies inside the instruction that its frame is executing.
struct NativeStack {
  SessionTime start, end;
  SessionTime due;          // the moment in between for which it was chosen
  Duration period;          // between such moments
  std::uint32_t place = 0;  // where it began: the same in each iteration of a loop
  std::vector<std::uint64_t> at_end;
  std::vector<std::uint64_t> at_begin;  // empty: not known
};

struct DecodedEvents {
  std::vector<Op> ops;
  std::vector<Phase> phases;
  std::vector<ThreadStretch> stretches;
  std::vector<ModuleCall> modules;
  std::vector<NativeStack> stacks;
};

// Decodes the ring of one thread, batch after batch.
class RingDecoder {
 public:
  RingDecoder(ThreadId thread, DecodeContext& context) : thread_(thread), context_(context) {}

  // Appends the events in `slots`, in the order they were written, to `out`. Computes self times:
  // the duration of an op minus those of the ops directly inside it, which ended earlier.
  void decode(std::span<const Slot> slots, const ClockMap& clock, DecodedEvents& out);

  // The text defined for `name`; kNone if undefined.
  [[nodiscard]] StringId text_of(NameId name) const;
  [[nodiscard]] ThreadId thread() const { return thread_; }
  [[nodiscard]] std::int64_t corrupt_slots() const { return corrupt_slots_; }

 private:
  void decode_op(const OpSlot& slot, const ClockMap& clock, DecodedEvents& out);
  void decode_phase(const PhaseSlot& slot, const ClockMap& clock, DecodedEvents& out);
  void decode_stretch(const StretchSlot& slot, const ClockMap& clock, DecodedEvents& out);
  void decode_module(const ModuleSlot& slot, const ClockMap& clock, DecodedEvents& out);
  void define_module(std::uint32_t number);
  // Decodes the definition at the beginning of `slots`. Returns how many slots it takes; 0:
  // corrupt.
  std::size_t decode_name(std::span<const Slot> slots);
  // The same for a stack.
  std::size_t decode_stack(std::span<const Slot> slots, const ClockMap& clock, DecodedEvents& out);
  Duration take_self_time(const Op& op);
  static constexpr std::size_t kDepths = 256;

  ThreadId thread_;
  DecodeContext& context_;
  std::uint32_t first_name_ = 0;  // number of names_[0]
  std::vector<StringId> names_;   // by NameId - first_name_
  std::string name_text_;         // reused
  struct ModuleName {
    StringId root, name, class_name;
  };
  std::unordered_map<std::uint32_t, ModuleName> modules_;  // by NameId
  StringId pending_shapes_ = StringId::kNone;              // of the op that follows
  std::array<Duration, kDepths + 1> inside_{};  // [d]: finished ops of depth d, parent open
  std::int64_t corrupt_slots_ = 0;
};

}  // namespace stepscope
