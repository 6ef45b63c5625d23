// Arbitrary bytes as what a program that has gone wild leaves in its device area: names, buffers,
// and the fields that say what they hold. Promise: no crash, and a store that can be read.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "profiler/recorder/device_drain.h"
#include "store/trace_reader.h"
#include "tests/fuzz/verbs.h"
#include "tests/profiler/cupti/activity_buffer.h"

namespace {

using namespace stepscope;

constexpr int kInputsPerStore = 512;

// What the fuzzer says, then names, then buffers.
struct Choice {
  std::uint32_t sizes;
  std::uint8_t states[4];
  std::uint32_t valid_bytes[4];
  std::uint32_t name_bytes;
  std::uint32_t names_length;  // of what follows
  std::uint32_t unused;
  std::uint64_t dropped, lost_names;
};

// CUPTI's, or any.
RecordSizes sizes_by(std::uint32_t choice) {
  switch (choice % 5) {
    case 0:
      return sizes_of_cupti_11_8();
    case 1:
      return sizes_of_cupti_12_4();
    case 2:
      return sizes_of_cupti_13_0();
    case 3:
      return sizes_of_cupti_13_5();
    default:
      RecordSizes any;
      for (std::uint32_t& bytes : any.bytes) bytes = choice / 5;
      return any;
  }
}

class Recorder {
 public:
  Recorder() {
    auto made = TraceWriter::create(testing::memory_file("drain.db"));
    testing::require(made.ok(), "a store can be made");
    writer_ = *std::move(made);
    process_ = *writer_->add_process({.pid = 1, .name = "train", .command = "./train"});
    thread_ = *writer_->add_thread({.process = process_, .tid = 1, .name = "train"});
  }
  ~Recorder() {
    testing::require(writer_->finish().ok(), "the store can be finished");
    const auto reader = TraceReader::open(path());
    testing::require(reader.ok(),
                     ("the store can be opened: " + reader.status().message()).c_str());
    const auto visit = [](const auto&) {};
    testing::require((*reader)->for_each_api_call(visit).ok(), "calls can be read");
    testing::require((*reader)->for_each_kernel(visit).ok(), "kernels can be read");
    testing::require((*reader)->for_each_copy(visit).ok(), "copies can be read");
    testing::require((*reader)->for_each_memset(visit).ok(), "memsets can be read");
    testing::require((*reader)->for_each_sync(visit).ok(), "waits can be read");
    static_cast<void>(testing::memory_file("drain.db"));  // removes it
  }
  static std::filesystem::path path() {
    return "/dev/shm/stepscope-fuzz-" + std::to_string(::getpid()) + "-drain.db";
  }

  void drain(DeviceArea& area) {
    static const ClockMap clock = tick_clock();
    DeviceDrain drain(area, process_, *writer_, clock,
                      [this](std::uint32_t) -> Result<ThreadId> { return thread_; });
    static_cast<void>(drain.drain());
    static_cast<void>(drain.drain_unfinished());
    const Status kept = writer_->flush();
    testing::require(kept.ok(), kept.message().c_str());
  }

 private:
  std::unique_ptr<TraceWriter> writer_;
  ProcessId process_{};
  ThreadId thread_{};
};

// The first buffers alone are used: to clear one takes longer than all the rest.
void fill(DeviceArea& area, const Choice& choice, const std::uint8_t* data, std::size_t size) {
  area.described = 1;
  area.record_sizes = sizes_by(choice.sizes);
  area.dropped_records = choice.dropped;
  area.lost_names = choice.lost_names;
  area.name_bytes = choice.name_bytes;
  const std::size_t names = std::min<std::size_t>({choice.names_length, size, kDeviceNameBytes});
  std::memset(area.names, 0, 1U << 16);
  std::memcpy(area.names, data, names);
  data += names;
  size -= names;
  for (std::size_t i = 0; i < std::size(choice.states); ++i) {
    const std::size_t bytes = size / (std::size(choice.states) - i);
    std::memcpy(area.data[i], data, bytes);
    data += bytes;
    size -= bytes;
    area.buffers[i].valid_bytes = choice.valid_bytes[i];
    area.buffers[i].number = choice.states[i];
    area.buffers[i].state = static_cast<DeviceBufferState>(choice.states[i] % 5);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choice choice;
  if (size < sizeof choice || size > (1U << 16)) return 0;
  std::memcpy(&choice, data, sizeof choice);
  static const auto area = std::make_unique<DeviceArea>();
  static std::unique_ptr<Recorder> recorder;
  static int inputs = 0;
  if (recorder == nullptr || ++inputs % kInputsPerStore == 0) {
    recorder.reset();
    recorder = std::make_unique<Recorder>();
  }
  fill(*area, choice, data + sizeof choice, size - sizeof choice);
  recorder->drain(*area);
  for (std::size_t i = 0; i < std::size(choice.states); ++i)
    std::memset(area->data[i], 0, 1U << 16);
  return 0;
}
