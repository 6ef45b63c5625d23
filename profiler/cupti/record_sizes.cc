#include "profiler/cupti/record_sizes.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace stepscope {
namespace {

struct KnownSizes {
  ActivityKind kind;
  const char* name;
  std::uint32_t bytes[6];  // one per known layout, in the order of releases; then 0
};

// Measured with CUPTI 11.8, 12.1, 12.4, 12.9 and 13.0; those of 13.5 are from its headers.
constexpr KnownSizes kKnown[] = {
    {ActivityKind::kCopy, "copy", {88, 96, 112}},
    {ActivityKind::kMemset, "memset", {88, 104}},
    {ActivityKind::kDriverCall, "driver call", {40}},
    {ActivityKind::kRuntimeCall, "runtime call", {40}},
    {ActivityKind::kDevice, "device", {176, 184, 192}},
    {ActivityKind::kContext, "context", {16, 24, 32, 40}},
    {ActivityKind::kKernel, "kernel", {200, 208, 216, 224, 232, 248}},
    {ActivityKind::kPeerCopy, "peer copy", {96}},
    {ActivityKind::kSync, "synchronization", {40, 56}},
    {ActivityKind::kOverhead, "overhead", {40, 48, 56}},
};

// Longer than two records of any kind, but short enough to reject nonsense.
constexpr std::size_t kProbeBytes = 2048;

std::uint32_t measure(NextRecord next_record, ActivityKind kind) {
  // Put the kind at every place where a second record could begin.
  alignas(8) std::uint8_t buffer[kProbeBytes] = {};
  for (std::size_t at = 0; at < kProbeBytes; at += 8) std::memcpy(buffer + at, &kind, sizeof(kind));
  void* record = nullptr;
  if (next_record(buffer, kProbeBytes, &record) != 0 || record != buffer) return 0;
  if (next_record(buffer, kProbeBytes, &record) != 0) return 0;
  const auto bytes = static_cast<std::uint8_t*>(record) - buffer;
  return bytes > 0 && bytes < static_cast<std::ptrdiff_t>(kProbeBytes)
             ? static_cast<std::uint32_t>(bytes)
             : 0;
}

}  // namespace

RecordSizes measure_record_sizes(NextRecord next_record) {
  RecordSizes sizes;
  for (const ActivityKind kind : kRecordedKinds) {
    sizes.bytes[static_cast<std::size_t>(kind)] = measure(next_record, kind);
  }
  return sizes;
}

std::optional<UnknownRecord> find_unknown_record(const RecordSizes& sizes) {
  for (const KnownSizes& known : kKnown) {
    const std::uint32_t bytes = sizes.of(known.kind);
    if (bytes != 0 && std::ranges::find(known.bytes, bytes) != std::end(known.bytes)) continue;
    return UnknownRecord{known.name, bytes};
  }
  return std::nullopt;
}

}  // namespace stepscope
