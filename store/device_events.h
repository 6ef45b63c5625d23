// The event vocabulary of devices: what a GPU did, and the calls of the host that made it do so. It
// complements events.h and follows the same rules.
//
// Correlation: an ApiCall and the activities that it caused carry the same number. It is unique in
// a store (correlation_of): CUPTI counts from 1 in each process.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "store/events.h"

namespace stepscope {

enum class DeviceId : std::uint32_t { kNone = 0 };  // kNone: the host
enum class StreamId : std::uint32_t { kNone = 0 };

// A device as one process sees it. Its number is the one that the process uses (which depends on
// CUDA_VISIBLE_DEVICES), and two processes that share a GPU have one Device each. Unknown values
// are 0.
struct Device {
  ProcessId process = ProcessId::kNone;
  std::int64_t number = 0;  // cuda:0
  std::string name;         // "Tesla V100-DGXS-32GB"
  std::int64_t memory_bytes = 0;
  std::int64_t compute_major = 0;  // compute capability 7.0
  std::int64_t compute_minor = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t max_threads_per_multiprocessor = 0;
  std::int64_t registers_per_multiprocessor = 0;
  std::int64_t shared_bytes_per_multiprocessor = 0;
};

struct Stream {
  DeviceId device = DeviceId::kNone;
  std::int64_t context = 0;
  std::int64_t number = 0;  // the driver's: 7 is the default stream
};

// Never 0, which means none. `number`: CUPTI's correlation id, which counts from 1.
constexpr std::int64_t correlation_of(ProcessId process, std::uint32_t number) {
  return static_cast<std::int64_t>(process) << 32 | std::int64_t{number};
}

// A call of the CUDA runtime or driver: cudaLaunchKernel, cuLaunchKernel, cudaStreamSynchronize.
struct ApiCall {
  ThreadId thread = ThreadId::kNone;
  StringId name = StringId::kNone;
  SessionTime start;
  Duration dur{0};
  std::int64_t correlation = 0;  // 0: none
};

// A piece of work that a stream did.
struct Activity {
  StreamId stream = StreamId::kNone;
  SessionTime start;
  Duration dur{0};
  std::int64_t correlation = 0;  // of the call that caused it; 0: none
};

struct Kernel : Activity {
  StringId name = StringId::kNone;       // demangled
  std::array<std::int32_t, 3> grid{};    // blocks
  std::array<std::int32_t, 3> block{};   // threads
  std::int32_t registers = 0;            // per thread
  std::int64_t static_shared_bytes = 0;  // per block; the sum of both, where only the sum is known
  std::int64_t dynamic_shared_bytes = 0;
  std::int64_t graph = 0;       // CUDA graph that launched it; 0: none
  std::int64_t graph_node = 0;  // its node there
};

// CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind, by their numbers. Stored in copy.kind,
// copy.source and copy.target.
enum class CopyKind : std::uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};
enum class MemoryKind : std::uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
  kManagedStatic = 7,
};
const char* copy_kind_name(CopyKind kind);      // "HtoD", "DtoH", …, "PtoP"; "unknown"
const char* memory_kind_name(MemoryKind kind);  // "pageable", "pinned", "device", …; "unknown"

struct Copy : Activity {
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  std::int64_t bytes = 0;
};

struct Memset : Activity {
  std::int64_t bytes = 0;
};

// A kernel, copy or memset with the call that caused it, as a timeline of the device shows it.
struct DeviceSlice : Activity {
  enum class Kind : std::uint8_t { kKernel = 0, kCopy = 1, kMemset = 2 };
  Kind kind = Kind::kKernel;
  StringId name = StringId::kNone;  // a kernel's
  CopyKind copy = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  std::int64_t bytes = 0;  // of a copy or memset
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  ApiCall call;  // without its name; its thread is kNone if the call is unknown
};

// The host waited for a device, or one stream for another (which costs the host no time).
// Stored in sync.kind.
enum class SyncKind : std::uint8_t {
  kUnknown = 0,
  kEvent = 1,       // cudaEventSynchronize: the host waits for an event
  kStreamWait = 2,  // cudaStreamWaitEvent: `stream` waits for an event of another
  kStream = 3,      // cudaStreamSynchronize
  kContext = 4,     // cudaDeviceSynchronize
};
const char* sync_kind_name(SyncKind kind);  // "event", "stream_wait", "stream", "context"

struct Sync {
  DeviceId device = DeviceId::kNone;
  StreamId stream = StreamId::kNone;  // what was waited for; kNone: all streams of the device
  SyncKind kind = SyncKind::kUnknown;
  SessionTime start;
  Duration dur{0};
  std::int64_t correlation = 0;  // of the call
};

}  // namespace stepscope
