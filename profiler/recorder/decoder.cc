#include "profiler/recorder/decoder.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "store/limits.h"

namespace stepscope {
namespace {

// Whether an intact program could have written these times: both can be stored, and the duration is
// under a year; it may be slightly negative, since the TSCs of two processors differ.
bool plausible(SessionTime start, SessionTime end) {
  constexpr std::chrono::hours kYear{24 * 365};
  return is_storable(start) && is_storable(end) && end - start < kYear &&
         start - end < std::chrono::milliseconds{1};
}

}  // namespace

void RingDecoder::decode(std::span<const Slot> slots, const ClockMap& clock, DecodedEvents& out) {
  while (!slots.empty()) {
    const Slot& slot = slots.front();
    std::size_t taken = 1;
    switch (slot.kind) {
      case SlotKind::kOp:
      case SlotKind::kForeignOp:
        decode_op(slot.op, clock, out);
        break;
      case SlotKind::kPhase:
        decode_phase(slot.phase, clock, out);
        break;
      case SlotKind::kStretch:
        decode_stretch(slot.stretch, clock, out);
        break;
      case SlotKind::kModule:
        decode_module(slot.module, clock, out);
        break;
      case SlotKind::kName:
      case SlotKind::kModuleName:
        taken = decode_name(slots);
        break;
      case SlotKind::kStack:
        taken = decode_stack(slots, clock, out);
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
    slots = slots.subspan(taken);
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
  op.phase = phase_of_op(slot.phase);
  op.sequence = slot.sequence == kNoSequence ? -1 : std::int64_t{slot.sequence};
  op.depth = slot.depth;
  op.shapes = pending_shapes_;
  pending_shapes_ = StringId::kNone;
  if (slot.kind == SlotKind::kForeignOp) {
    op.self = op.dur;  // on this thread it is not nested
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
  // The two clocks differ slightly, and the producer may be corrupted.
  const auto most = static_cast<std::uint64_t>(to_ns(phase.dur));
  phase.cpu = Duration{static_cast<std::int64_t>(std::min(slot.cpu_ns, most))};
  out.phases.push_back(phase);
}

void RingDecoder::decode_stretch(const StretchSlot& slot, const ClockMap& clock,
                                 DecodedEvents& out) {
  const SessionTime start = clock.to_session(Ticks{slot.start});
  const SessionTime end = clock.to_session(Ticks{slot.end});
  if (!plausible(start, end)) {
    ++corrupt_slots_;
    return;
  }
  ThreadStretch stretch;
  stretch.thread = thread_;
  stretch.start = start;
  stretch.dur = std::max(Duration{0}, end - start);
  const auto most = static_cast<std::uint64_t>(to_ns(stretch.dur));
  stretch.run = Duration{static_cast<std::int64_t>(std::min(slot.run_ns, most))};
  stretch.starved = std::min(Duration{std::int64_t{slot.starved_us} * 1000}, stretch.dur);
  out.stretches.push_back(stretch);
}

void RingDecoder::decode_module(const ModuleSlot& slot, const ClockMap& clock, DecodedEvents& out) {
  const SessionTime start = clock.to_session(Ticks{slot.start});
  const SessionTime end = clock.to_session(Ticks{slot.end});
  const auto name = modules_.find(static_cast<std::uint32_t>(slot.name));
  if (name == modules_.end() || !plausible(start, end)) {
    // A call without its name is useless; the lost name has been counted.
    if (slot.name != NameId::kNone) ++corrupt_slots_;
    return;
  }
  ModuleCall call;
  call.thread = thread_;
  call.root = name->second.root;
  call.name = name->second.name;
  call.class_name = name->second.class_name;
  call.start = start;
  call.dur = std::max(Duration{0}, end - start);
  call.phase = phase_of_op(slot.phase);
  call.depth = slot.depth;
  const bool known = slot.held_bytes != kHeldUnknown;
  constexpr std::int64_t kMax = kMaxHeldBytes;
  if (known) call.held_bytes = std::clamp(slot.held_bytes, -kMax, kMax);
  out.modules.push_back(call);
}

void RingDecoder::define_module(std::uint32_t number) {
  const std::string_view text = name_text_;
  const std::size_t first = std::min(text.find(kModulePart), text.size());
  const std::size_t second = std::min(text.find(kModulePart, first + 1), text.size());
  const auto part = [&](std::size_t begin, std::size_t end) {
    return begin < end ? context_.intern(text.substr(begin, end - begin)) : StringId::kNone;
  };
  modules_[number] = {part(0, first), part(first + 1, second), part(second + 1, text.size())};
}

std::size_t RingDecoder::decode_name(std::span<const Slot> slots) {
  const NameSlot& first = slots.front().name;
  if (first.length > kMaxNameLength) return 0;
  const std::size_t taken = name_slots(first.length);
  const auto number = static_cast<std::uint32_t>(first.name);
  if (taken > slots.size() || number == 0) return 0;
  // Numbers come in order; the first one continues those of an earlier recording.
  if (names_.empty()) first_name_ = number;
  if (number != first_name_ + names_.size()) return 0;

  const std::size_t length = first.length;
  name_text_.assign(first.text, std::min(length, sizeof(first.text)));
  for (const Slot& more : slots.subspan(1, taken - 1)) {
    char bytes[sizeof(Slot)];
    std::memcpy(bytes, &more, sizeof(bytes));
    name_text_.append(bytes, std::min(length - name_text_.size(), sizeof(bytes)));
  }
  const bool of_module = first.kind == SlotKind::kModuleName;
  names_.push_back(of_module ? StringId::kNone : context_.intern(name_text_));
  if (of_module) define_module(number);
  return taken;
}

std::size_t RingDecoder::decode_stack(std::span<const Slot> slots, const ClockMap& clock,
                                      DecodedEvents& out) {
  const StackSlot& first = slots.front().stack;
  const std::uint32_t count = first.end_frames + first.begin_frames;
  if (first.end_frames == 0 || first.end_frames > kMaxStackFrames ||
      first.begin_frames > kMaxStackFrames ||
      stack_slots(first.end_frames, first.begin_frames) > slots.size()) {
    return 0;
  }
  NativeStack stack;
  stack.start = clock.to_session(Ticks{first.start});
  stack.end = clock.to_session(Ticks{first.end});
  if (!plausible(stack.start, stack.end)) return 0;
  stack.end = std::max(stack.end, stack.start);
  stack.due = std::clamp(clock.to_session(Ticks{first.due}), stack.start, stack.end);
  stack.period = Duration{kStackPeriodNs / std::max<std::uint8_t>(1, first.rate)};
  stack.place = first.place;
  constexpr std::size_t kEach = std::size(Slot{}.addresses);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t address = slots[1 + i / kEach].addresses[i % kEach];
    (i < first.end_frames ? stack.at_end : stack.at_begin).push_back(address);
  }
  out.stacks.push_back(std::move(stack));
  return stack_slots(first.end_frames, first.begin_frames);
}

StringId RingDecoder::text_of(NameId name) const {
  const std::size_t index = static_cast<std::uint32_t>(name) - std::size_t{first_name_};  // wraps
  return index < names_.size() ? names_[index] : StringId::kNone;
}

}  // namespace stepscope
