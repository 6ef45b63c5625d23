// A stand-in for CUDA on machines without a GPU: plays libcupti, with records and buffers as
// CUPTI's, for a device that does what the functions below ask of it.
//
// The device works in time: what is launched begins when its stream is free, and lasts as many
// ticks of the registered clock as it is told. CUPTI's part, in short: a record is written once its
// activity has ended; CUDA was initialised long ago, so that there are no records of devices and
// contexts; full buffers are handed over by a thread of its own, all of them by
// cuptiActivityFlushAll().
//
// Thread safety: all functions; settings before the first of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/cupti/activity_records.h"

namespace stepscope::stand_in {

struct Settings {
  std::uint32_t version = 130001;
  RecordSizes sizes;         // at first those of CUPTI 13.0
  int subscribe_result = 0;  // what cuptiSubscribe() answers
  int enable_result = 0;     // what cuptiActivityEnable() answers for kernels
  bool own_thread = true;    // whether buffers are handed over by a thread of its own
};

// What the collector has done so far.
struct Seen {
  std::int64_t clocks_registered = 0;
  std::int64_t enabled_without_clock = 0;  // kinds, before a clock was registered
  std::int64_t kinds_enabled = 0;          // now
  std::int64_t subscribers = 0;            // now
  std::int64_t buffers_refused = 0;
  std::int64_t flushes = 0;
  std::int64_t records_dropped = 0;
};

extern "C" {
Settings* stand_in_settings();
Seen stand_in_seen();

// What a program does. `ticks`: how long the device takes.
void cudaMalloc_stand_in();
void cudaGetDevice_stand_in();
void cudaLaunchKernel_stand_in(const char* mangled_name, std::uint32_t stream, std::uint64_t ticks);
// `pinned`: else it takes the host as long as the device.
void cudaMemcpyAsync_stand_in(std::uint64_t bytes, bool pinned, std::uint32_t stream,
                              std::uint64_t ticks);
void cudaMemsetAsync_stand_in(std::uint64_t bytes, std::uint32_t stream, std::uint64_t ticks);
// One call, `count` kernels.
void cudaGraphLaunch_stand_in(const char* mangled_name, std::uint32_t count, std::uint32_t stream,
                              std::uint64_t ticks);
void cudaStreamSynchronize_stand_in(std::uint32_t stream);
// A call of the driver, by the program itself.
void cuLaunchKernel_stand_in(const char* mangled_name, std::uint32_t stream, std::uint64_t ticks);
// The driver loads a kernel's code meanwhile, on the calling thread.
void stand_in_load_function(std::uint64_t ticks);

// A record is begun, for work that has not ended.
void stand_in_keep_place();
// What has ended is handed over, on the calling thread.
void stand_in_flush();
// Comes with a buffer that nobody gave, as another profiler's.
void stand_in_complete_foreign_buffer();
// Asks for a buffer, whatever is enabled, and gives it back empty; false when it got none.
bool stand_in_complete_late_buffer();
}

}  // namespace stepscope::stand_in
