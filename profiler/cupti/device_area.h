// The part of a region (ring/region_format.h) that holds CUPTI's buffers, shared by the program and
// the recorder, which may be another process. docs/device.md describes it in prose.
//
// CUPTI writes its records directly to this memory. A single atomic store hands a full buffer to
// the recorder, which decodes it, so written records survive the program's death. Records refer to
// texts by their addresses in the program; a log next to the buffers holds the texts.
//
// Sparse and zeroed, like the rest of the region: takes no memory if no device is recorded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/cupti/activity_records.h"
#include "profiler/ring/region.h"

namespace stepscope {

// Smaller than the 1 to 10 MiB that CUPTI's manual recommends: CUPTI delivers a buffer when it is
// full, and takes what it still holds with it if the program is killed. Records that find no buffer
// are dropped and counted.
inline constexpr std::uint32_t kDeviceBuffers = 128;
inline constexpr std::uint32_t kDeviceBufferBytes = 256U << 10;
inline constexpr std::uint32_t kDeviceNameBytes = 2U << 20;

// A free buffer is all zeros; the recorder ensures this. kGiven: owned by CUPTI, which fills it
// from its beginning; a kind of 0 marks the end of the written part.
enum class DeviceBufferState : std::uint32_t { kFree, kGiven, kFull };

struct DeviceBuffer {
  std::atomic<DeviceBufferState> state;
  std::uint32_t valid_bytes;  // when full
  std::uint64_t number;       // when full: counts the full buffers in their order
};

// Texts that records refer to by a number: an address in the program, or a function id.
enum class NameSpace : std::uint32_t { kAddress = 0, kRuntimeCall = 1, kDriverCall = 2 };

// Mangled names of templates are long.
inline constexpr std::uint32_t kMaxDeviceNameLength = 8192;

// One entry of the log of names: this, then the text, up to a multiple of 8. A later entry for the
// same key replaces an earlier one: the text at an address may change.
struct DeviceName {
  NameSpace space;
  std::uint32_t length;  // of the text; at most kMaxDeviceNameLength
  std::uint64_t key;
};
constexpr std::uint64_t device_name_bytes(std::uint32_t length) {
  return sizeof(DeviceName) + (std::uint64_t{length} + 7) / 8 * 8;
}

struct DeviceArea {
  // Written by the program before `described` is set.
  std::atomic<std::uint32_t> described;  // 1: CUPTI is available
  std::uint32_t cupti_version;           // from cuptiGetVersion(): 28, 130001
  RecordSizes record_sizes;

  // Written by the program.
  alignas(64) std::atomic<std::uint32_t> recording;  // 1: CUPTI records now
  std::atomic<std::uint64_t> full_buffers;           // so far
  std::atomic<std::uint64_t> launches;               // in them: of kernels, copies and memsets
  std::atomic<std::uint64_t> dropped_records;        // by CUPTI, for lack of a buffer
  std::atomic<std::uint64_t> lost_names;             // for lack of room in the log
  std::atomic<std::uint64_t> name_bytes;             // bytes of the log written so far
  std::atomic<std::uint32_t> has_notice;             // 1: `notice` is written
  char notice[512];                                  // one line for the user
  // The recorder sets kFree, the program the other states.
  alignas(64) DeviceBuffer buffers[kDeviceBuffers];

  alignas(4096) std::byte names[kDeviceNameBytes];
  alignas(4096) std::byte data[kDeviceBuffers][kDeviceBufferBytes];
};

// The area lies between the region's header and its rings.
static_assert(sizeof(RegionHeader) <= kDeviceAreaOffset && sizeof(DeviceArea) == kDeviceAreaBytes &&
              kDeviceAreaBytes % 4096 == 0);
// Everything that is accessed before a ring or a device is used.
inline constexpr std::uint64_t kRegionHeadBytes = kDeviceAreaOffset + offsetof(DeviceArea, names);

inline DeviceArea* device_area(const Region& region) {
  return reinterpret_cast<DeviceArea*>(reinterpret_cast<char*>(region.header) + kDeviceAreaOffset);
}

}  // namespace stepscope
