// Buffers of CUPTI records, made by hand; and a decoder's context that numbers what it is asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/cupti/activity_decoder.h"
#include "profiler/cupti/record_sizes.h"

namespace stepscope {

// As long as those of each CUPTI; see record_sizes.cc.
inline RecordSizes record_sizes_of(std::uint32_t copy, std::uint32_t memset, std::uint32_t device,
                                   std::uint32_t context, std::uint32_t kernel, std::uint32_t sync,
                                   std::uint32_t overhead) {
  RecordSizes sizes;
  const auto set = [&](ActivityKind kind, std::uint32_t bytes) {
    sizes.bytes[static_cast<std::size_t>(kind)] = bytes;
  };
  set(ActivityKind::kCopy, copy);
  set(ActivityKind::kMemset, memset);
  set(ActivityKind::kDriverCall, 40);
  set(ActivityKind::kRuntimeCall, 40);
  set(ActivityKind::kDevice, device);
  set(ActivityKind::kContext, context);
  set(ActivityKind::kKernel, kernel);
  set(ActivityKind::kPeerCopy, 96);
  set(ActivityKind::kSync, sync);
  set(ActivityKind::kOverhead, overhead);
  return sizes;
}
inline RecordSizes sizes_of_cupti_11_8() { return record_sizes_of(88, 88, 176, 16, 200, 40, 40); }
inline RecordSizes sizes_of_cupti_12_4() { return record_sizes_of(88, 88, 184, 24, 208, 40, 56); }
inline RecordSizes sizes_of_cupti_13_0() { return record_sizes_of(96, 88, 184, 32, 216, 56, 56); }
inline RecordSizes sizes_of_cupti_13_5() { return record_sizes_of(112, 104, 192, 40, 248, 56, 56); }

class ActivityBuffer {
 public:
  explicit ActivityBuffer(const RecordSizes& sizes) : sizes_(sizes) {}

  // What follows the part that we know is filled with nonsense, which nobody may read.
  template <typename Record>
  void put(ActivityKind kind, Record record) {
    record.kind = static_cast<std::uint32_t>(kind);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizes_.of(kind), std::byte{0xa5});
    std::memcpy(bytes_.data() + at, &record, sizeof(record));
  }
  void put_bytes(std::size_t count, std::byte value) {
    bytes_.resize(bytes_.size() + count, value);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const RecordSizes& sizes() const { return sizes_; }

 private:
  RecordSizes sizes_;
  std::vector<std::byte> bytes_;
};

class TestActivityContext final : public ActivityContext {
 public:
  DeviceId device(std::uint32_t number) override { return DeviceId{number + 1}; }
  StreamId stream(std::uint32_t device, std::uint32_t context, std::uint32_t number) override {
    const auto [at, added] = streams.try_emplace({device, context, number});
    if (added) at->second = static_cast<StreamId>(streams.size());
    return at->second;
  }
  ThreadId thread(std::uint32_t tid) override { return ThreadId{tid}; }
  StringId kernel_name(std::uint64_t address) override {
    return static_cast<StringId>(address & 0xffff);
  }
  StringId call_name(NameSpace space, std::uint32_t callback) override {
    return static_cast<StringId>(callback + (space == NameSpace::kDriverCall ? 10'000U : 0U));
  }
  StringId overhead_name(std::string_view name) override {
    overheads.emplace_back(name);
    return static_cast<StringId>(20'000 + overheads.size());
  }
  std::int64_t correlation(std::uint32_t number) override { return number; }
  void describe(const Device& device, std::uint64_t name, const std::string& /*uuid*/) override {
    described = device;
    described_name = name;
  }

  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, StreamId> streams;
  std::vector<std::string> overheads;
  Device described;
  std::uint64_t described_name = 0;
};

// A tick is a ns.
inline ClockMap tick_clock() {
  return {ClockReading{Ticks{0}, 0}, ClockReading{Ticks{1'000'000}, 1'000'000}};
}

}  // namespace stepscope
