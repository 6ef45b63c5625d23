// Feeds arbitrary bytes to the decoder as the slots of a ring: what a program that has gone wild
// may leave there. Promise: no crash, and events that can be stored.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/require.h"
#include "tests/profiler/test_ring.h"

namespace {

using stepscope::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  static TestRing ring;  // its slots are overwritten each time
  // With a clock of its own: measuring the real one would take a millisecond.
  TestDecoder reader(ring.header(), Ticks{0});
  // Two batches, so that what is kept between them is tried too.
  const std::size_t slots = std::min<std::size_t>(size / sizeof(Slot), ring.header()->slot_count);
  std::memcpy(static_cast<void*>(ring_slots(ring.header())), data, slots * sizeof(Slot));
  ring.header()->tail.store(0);
  for (const std::size_t head : {slots / 2, slots}) {
    ring.header()->head.store(head);
    const DecodedEvents events = reader.decode();
    for (const Op& op : events.ops) {
      require(op.dur >= Duration{0}, "a duration is not negative");
      require(op.self >= Duration{0} && op.self <= op.dur, "self time lies within the op");
    }
    for (const NativeStack& stack : events.stacks) {
      require(stack.start <= stack.due && stack.due <= stack.end, "a stack is of its stretch");
      require(!stack.at_end.empty(), "a stack has a frame");
    }
    for (const Phase& phase : events.phases) {
      require(phase.dur >= Duration{0}, "a phase's duration is not negative");
      require(phase.cpu >= Duration{0} && phase.cpu <= phase.dur, "cpu time lies within the phase");
    }
  }
  return 0;
}
