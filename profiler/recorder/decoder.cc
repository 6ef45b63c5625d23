#include "profiler/recorder/decoder.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "store/limits.h"

namespace stepscope {
namespace {

// Two ticks that a sane program could have left: a duration of under a year, give or take what the
// TSCs of two processors differ by, at times that a store may hold.
bool plausible(SessionTime start, SessionTime end) {
  constexpr std::chrono::hours kYear{24 * 365};
  return is_storable(start) && is_storable(end) && end - start < kYear &&
         start - end < std::chrono::milliseconds{1};
}

}  // namespace

void RingDecoder::decode(const RingConsumer& ring, RingConsumer::Batch batch, const ClockMap& clock,
                         DecodedEvents& out) {
  for (std::uint64_t i = batch.begin; i < batch.end;) {
    const Slot slot = ring.slot(i);  // a copy: the producer may go wild between two looks
    std::uint64_t taken = 1;
    switch (slot.kind) {
      case SlotKind::kOp:
      case SlotKind::kForeignOp:
        decode_op(slot.op, clock, out);
        break;
      case SlotKind::kPhase:
        decode_phase(slot.phase, clock, out);
        break;
      case SlotKind::kName:
        taken = decode_name(ring, i, batch.end);
        break;
      case SlotKind::kShapes:
        pending_shapes_ = text_of(slot.shapes.shapes);
        break;
      default:
        taken = 0;
    }
    if (taken == 0) {
      ++corrupt_slots_;
      taken = 1;
    }
    i += taken;
  }
}

void RingDecoder::decode_op(const OpSlot& slot, const ClockMap& clock, DecodedEvents& out) {
  const SessionTime end = clock.to_session(Ticks{slot.end});
  Op op;
  op.thread = thread_;
  op.name = text_of(slot.name);
  op.start = clock.to_session(Ticks{slot.start});
  if (!plausible(op.start, end)) {
    ++corrupt_slots_;
    return;
  }
  op.dur = std::max(Duration{0}, end - op.start);
  op.scope = static_cast<OpScope>(slot.scope);
  op.phase = slot.phase < kPhaseKindCount ? static_cast<PhaseKind>(slot.phase) : PhaseKind::kNone;
  op.sequence = slot.sequence == kNoSequence ? -1 : std::int64_t{slot.sequence};
  op.depth = slot.depth;
  op.shapes = pending_shapes_;
  pending_shapes_ = StringId::kNone;
  if (slot.kind == SlotKind::kForeignOp) {
    op.self = op.dur;  // it nests in nothing here
    const ThreadId began_on = context_.thread_of_torch_id(slot.forward_thread);
    if (began_on != ThreadId::kNone) op.thread = began_on;
  } else {
    op.forward_thread = slot.forward_thread;
    op.self = take_self_time(op);
  }
  out.ops.push_back(op);
}

Duration RingDecoder::take_self_time(const Op& op) {
  const std::size_t depth = op.depth;
  const Duration children = inside_[depth + 1];
  inside_[depth + 1] = Duration{0};
  inside_[depth] += op.dur;
  if (depth == 0) inside_[0] = Duration{0};
  return std::clamp(op.dur - children, Duration{0}, op.dur);
}

void RingDecoder::decode_phase(const PhaseSlot& slot, const ClockMap& clock, DecodedEvents& out) {
  const SessionTime start = clock.to_session(Ticks{slot.start});
  const SessionTime end = clock.to_session(Ticks{slot.end});
  if (slot.phase == 0 || slot.phase >= kPhaseKindCount || !plausible(start, end)) {
    ++corrupt_slots_;
    return;
  }
  Phase phase;
  phase.thread = thread_;
  phase.kind = static_cast<PhaseKind>(slot.phase);
  phase.name = text_of(slot.name);
  phase.start = start;
  phase.dur = std::max(Duration{0}, end - start);
  // The two clocks differ by a little, and the producer may have gone wild.
  const auto most = static_cast<std::uint64_t>(to_ns(phase.dur));
  phase.cpu = Duration{static_cast<std::int64_t>(std::min(slot.cpu_ns, most))};
  out.phases.push_back(phase);
}

std::uint64_t RingDecoder::decode_name(const RingConsumer& ring, std::uint64_t at,
                                       std::uint64_t end) {
  const NameSlot first = ring.slot(at).name;
  if (first.length > kMaxNameLength) return 0;
  const std::uint64_t slots = name_slots(first.length);
  const auto number = static_cast<std::uint32_t>(first.name);
  if (at + slots > end || number == 0) return 0;
  // Numbers come in order; the first is where an earlier recording left off.
  if (names_.empty()) first_name_ = number;
  if (number != first_name_ + names_.size()) return 0;

  const std::size_t length = first.length;
  name_text_.assign(first.text, std::min(length, sizeof(first.text)));
  for (std::uint64_t i = 1; i < slots; ++i) {
    const Slot more = ring.slot(at + i);
    char bytes[sizeof(Slot)];
    std::memcpy(bytes, &more, sizeof(bytes));
    name_text_.append(bytes, std::min(length - name_text_.size(), sizeof(bytes)));
  }
  names_.push_back(context_.intern(name_text_));
  return slots;
}

StringId RingDecoder::text_of(NameId name) const {
  const std::size_t index = static_cast<std::uint32_t>(name) - std::size_t{first_name_};  // wraps
  return index < names_.size() ? names_[index] : StringId::kNone;
}

}  // namespace stepscope
