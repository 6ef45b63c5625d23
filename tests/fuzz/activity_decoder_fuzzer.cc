// Feeds arbitrary bytes to the decoder as a buffer of CUPTI's, with records as long as the first
// byte says. Promise: no crash, and events that can be stored.
#include <cstdint>
#include <span>

#include "tests/fuzz/require.h"
#include "tests/profiler/cupti/activity_buffer.h"

namespace {

using stepscope::fuzz::require;

stepscope::RecordSizes sizes_by(std::uint8_t choice) {
  switch (choice % 4) {
    case 0:
      return stepscope::sizes_of_cupti_11_8();
    case 1:
      return stepscope::sizes_of_cupti_12_4();
    case 2:
      return stepscope::sizes_of_cupti_13_0();
    default:
      return stepscope::sizes_of_cupti_13_5();
  }
}

template <typename Activities>
void check(const Activities& activities) {
  for (const auto& activity : activities) {
    require(activity.dur >= stepscope::Duration{0}, "a duration is not negative");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  if (size == 0) return 0;
  TestActivityContext context;
  ActivityDecoder decoder(sizes_by(data[0]), context);
  const ClockMap clock = tick_clock();
  DeviceEvents events;
  const std::span bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  // Twice, so that what is kept between buffers is tried too.
  decoder.decode(bytes.first(bytes.size() / 2), clock, events);
  decoder.decode(bytes.subspan(bytes.size() / 2), clock, events);
  check(events.calls);
  check(events.kernels);
  check(events.copies);
  check(events.memsets);
  check(events.syncs);
  for (const Kernel& kernel : events.kernels) {
    require(kernel.graph_node >= 0, "numbers are not negative");
    for (const std::int32_t blocks : kernel.grid) require(blocks >= 0, "a grid is not negative");
  }
  for (const Copy& copy : events.copies) {
    require(copy.bytes >= 0, "bytes are not negative");
    require(copy.kind <= CopyKind::kPeerToPeer, "a copy's kind has a name");
    require(copy.source <= MemoryKind::kManagedStatic, "a memory's kind has a name");
  }
  return 0;
}
