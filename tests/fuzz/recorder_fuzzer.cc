// Arbitrary bytes as the rings of a program that has gone wild, drained into a store by the
// recorder, analysed, drawn and told. Promise: no crash, and all that the other two promise.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "analyzer/analyze.h"
#include "present/stored_analysis.h"
#include "profiler/recorder/process_drain.h"
#include "profiler/ring/ring.h"
#include "tests/fuzz/check_report.h"
#include "tests/fuzz/check_trace.h"
#include "tests/fuzz/reused_store.h"
#include "viewer-export/chrome_trace.h"

namespace {

using namespace stepscope;

constexpr std::uint32_t kRings = 4;  // a region has no fewer
constexpr std::size_t kRingBytes = std::size_t{32} << 10;

const Region& region() {
  static const Region mapped = [] {
    RegionLayout layout = lay_out_region(kRingBytes);
    layout.ring_capacity = kRings;
    return map_private_region(layout, {});
  }();
  fuzz::require(static_cast<bool>(mapped), "a region can be mapped");
  return mapped;
}

// Deals the slots out to the rings.
void fill(std::span<const std::uint8_t> bytes) {
  const std::size_t slots =
      std::min<std::size_t>(bytes.size() / sizeof(Slot) / kRings, region().layout.slot_count);
  for (std::uint32_t i = 0; i < kRings; ++i) {
    const auto tid = static_cast<std::int32_t>(100 + i);
    RingHeader* const ring =
        format_ring(region().ring(i), region().layout.slot_count, 100, tid, "train");
    ring->torch_id.store(i + 1);
    std::memcpy(static_cast<void*>(ring_slots(ring)), bytes.data() + i * slots * sizeof(Slot),
                slots * sizeof(Slot));
    ring->head.store(slots);
  }
  region().header->ring_count.store(kRings);
}

void record(std::span<const std::uint8_t> bytes, TraceWriter& writer) {
  static const ClockMap clock{ClockReading{Ticks{0}, 0},
                              ClockReading{Ticks{1'000'000}, 1'000'000}};  // 1 ns a tick
  Process process;
  process.pid = 100;
  process.name = "train";
  const auto id = writer.add_process(process);
  fuzz::require(id.ok(), "a process is taken");
  fill(bytes);
  ProcessDrain drain(region(), *id, writer, clock);
  fuzz::require(drain.drain_unfinished().ok(), "a region can be drained");
  fuzz::require(writer.add(drain.open_ops()).ok(), "open ops are taken");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::ReusedStore store;
  record({data, size}, store.empty());
  const auto reader = store.read();
  const auto report = analyze(*reader);
  fuzz::require(report.ok(), "a recording can be analysed");
  fuzz::check_report(*reader, *report);
  StringSink sink;
  const auto summary = write_chrome_trace(*reader, to_analysis(*report), {}, sink);
  if (summary.ok()) fuzz::check_trace(sink.text());
  return 0;
}
