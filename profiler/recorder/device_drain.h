// Drains the DeviceArea of one process into a store: buffer after buffer, records to events, losses
// to rows.
//
// Thread safety: none; used by one recorder. The program keeps running meanwhile and may write
// anything: all data in the area is checked before use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiler/cupti/activity_decoder.h"
#include "profiler/cupti/device_area.h"
#include "store/status.h"
#include "store/trace_writer.h"

namespace stepscope {

class DeviceDrain final : private ActivityContext {
 public:
  // The store's id of the thread with this system tid.
  using FindThread = std::function<Result<ThreadId>(std::uint32_t tid)>;

  // `area`, `writer` and `clock` outlive it.
  DeviceDrain(DeviceArea& area, ProcessId process, TraceWriter& writer, const ClockMap& clock,
              FindThread find_thread);
  DeviceDrain(const DeviceDrain&) = delete;
  DeviceDrain& operator=(const DeviceDrain&) = delete;

  // Discards the contents of the buffers and the losses so far, which belong to an earlier
  // recording.
  void discard_backlog();
  // Writes the buffers handed over since the last call.
  Status drain();
  // After the program's death: also writes the buffers that CUPTI was still filling.
  Status drain_unfinished();
  // The store has failed: further events are only counted.
  void discard_from_now_on() { discarding_ = true; }

  // The UUIDs of the devices that CUPTI described, by number.
  [[nodiscard]] const std::map<std::uint32_t, std::string>& uuids() const { return uuids_; }
  // After drain(): whether there was data.
  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] std::int64_t events() const { return events_; }
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  DeviceId device(std::uint32_t number) override;
  StreamId stream(std::uint32_t device, std::uint32_t context, std::uint32_t number) override;
  ThreadId thread(std::uint32_t tid) override;
  StringId kernel_name(std::uint64_t address) override;
  StringId call_name(NameSpace space, std::uint32_t function) override;
  StringId overhead_name(std::string_view name) override;
  std::int64_t correlation(std::uint32_t number) override;
  void describe(const Device& device, std::uint64_t name, const std::string& uuid) override;

  using NameKey = std::pair<NameSpace, std::uint64_t>;

  StringId name_of(const NameKey& key);
  void read_names();
  void take_name(const DeviceName& name, std::string_view text);
  Status drain_buffer(std::size_t index, std::uint32_t valid_bytes);
  Status write_decoded();
  Status store_losses();
  Status store_loss(const char* kind, std::uint64_t total, std::uint64_t& stored);
  template <typename Id>
  Id keep(const Result<Id>& result);

  DeviceArea& area_;
  const ProcessId process_;
  TraceWriter& writer_;
  const ClockMap& clock_;
  const FindThread find_thread_;
  std::optional<ActivityDecoder> decoder_;  // once the sizes of records are known

  std::uint64_t names_read_ = 0;
  std::map<NameKey, std::string> texts_;
  std::map<NameKey, StringId> names_;  // of the names in use
  std::map<std::uint32_t, DeviceId> devices_;
  std::map<std::uint32_t, std::string> uuids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, StreamId> streams_;

  DeviceEvents decoded_;
  Status failure_;  // an error of the store, seen while decoding
  std::uint64_t dropped_before_ = 0;
  std::uint64_t unfinished_ = 0;  // records, at the program's death; at least one a buffer
  std::uint64_t stored_dropped_ = 0, stored_names_ = 0, stored_bad_ = 0;
  std::int64_t events_ = 0;
  std::int64_t lost_ = 0;
  bool busy_ = false;
  bool discarding_ = false;
};

}  // namespace stepscope
