// Decodes the bytes of a CUPTI buffer into the store's device events.
//
// Does not trust the buffer: the program that owns its memory may have corrupted it. Malformed
// records are counted and skipped; if the next record cannot be found, so is the rest of the
// buffer. Thread safety: none; only the recorder uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/cupti/activity_records.h"
#include "profiler/cupti/device_area.h"
#include "profiler/ring/clock.h"
#include "store/device_events.h"

namespace stepscope {

// The decoder's interface to the store.
class ActivityContext {
 public:
  virtual ~ActivityContext() = default;
  virtual DeviceId device(std::uint32_t number) = 0;
  virtual StreamId stream(std::uint32_t device, std::uint32_t context, std::uint32_t number) = 0;
  virtual ThreadId thread(std::uint32_t tid) = 0;
  // kNone when unknown.
  virtual StringId kernel_name(std::uint64_t address) = 0;
  virtual StringId call_name(NameSpace space, std::uint32_t callback) = 0;
  virtual StringId overhead_name(std::string_view name) = 0;
  virtual std::int64_t correlation(std::uint32_t number) = 0;
  // Stores the properties of `device`, all but its process. Its name is the text at address `name`.
  // `uuid`: "GPU-…"; "": unknown.
  virtual void describe(const Device& device, std::uint64_t name, const std::string& uuid) = 0;
};

struct DeviceEvents {
  std::vector<ApiCall> calls;
  std::vector<Kernel> kernels;
  std::vector<Copy> copies;
  std::vector<Memset> memsets;
  std::vector<Sync> syncs;

  [[nodiscard]] std::size_t size() const {
    return calls.size() + kernels.size() + copies.size() + memsets.size() + syncs.size();
  }
  void clear();
};

// The events of one process. Contexts carry over from buffer to buffer.
class ActivityDecoder {
 public:
  // Kinds with an impossible size count as unknown.
  ActivityDecoder(const RecordSizes& sizes, ActivityContext& context);

  // Appends the events in `bytes`, one buffer, up to its end or the first place where no record has
  // been written (a kind of 0). Leaves out driver calls made by a runtime call: to the user they
  // are one call.
  void decode(std::span<const std::byte> bytes, const ClockMap& clock, DeviceEvents& out);

  // No more records follow: waits in contexts of which no record told the device are malformed.
  void give_up_waiting();
  // The number of malformed records.
  [[nodiscard]] std::int64_t bad_records() const { return bad_; }

 private:
  struct Span {
    SessionTime start;
    Duration dur{0};
  };
  struct DriverCall {
    ApiCall call;
    std::uint32_t tid;
  };

  void take(const std::byte* record, ActivityKind kind, const ClockMap& clock, DeviceEvents& out);
  void take_call(const std::byte* bytes, ActivityKind kind, const ClockMap& clock,
                 DeviceEvents& out);
  void take_kernel(const std::byte* bytes, const ClockMap& clock, DeviceEvents& out);
  template <typename Record>
  void take_copy(const std::byte* bytes, const ClockMap& clock, DeviceEvents& out);
  void take_memset(const std::byte* bytes, const ClockMap& clock, DeviceEvents& out);
  void take_sync(const SyncRecord& record, const ClockMap& clock, DeviceEvents& out);
  void take_waiting_syncs(const ClockMap& clock, DeviceEvents& out);
  void take_overhead(const std::byte* bytes, const ClockMap& clock, DeviceEvents& out);
  void take_context(const std::byte* bytes);
  void know_context(std::uint32_t context, std::uint32_t device);
  void take_device(const std::byte* bytes);
  // Returns false, and counts a bad record, if the ticks cannot be a start and an end.
  bool place(std::uint64_t start, std::uint64_t end, const ClockMap& clock, Span& span);
  template <typename Record>
  bool activity(const Record& record, const ClockMap& clock, Activity& activity);
  void add_outer_driver_calls(DeviceEvents& out);

  const RecordSizes sizes_;
  ActivityContext& context_;
  std::unordered_map<std::uint32_t, std::uint32_t> device_of_context_;
  std::vector<SyncRecord> waiting_syncs_;  // until their contexts are known
  std::size_t contexts_at_last_try_ = 0;
  std::vector<DriverCall> driver_calls_;  // of the current buffer
  std::unordered_map<std::uint32_t, std::vector<TimeRange>> runtime_calls_;  // by thread
  std::int64_t bad_ = 0;
};

}  // namespace stepscope
