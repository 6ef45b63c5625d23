// The layout of CUPTI's activity records in its buffers, as far as Stepscope reads them.
//
// A record begins with its kind. Its length depends on the CUPTI in use, because releases append
// fields. The structs declare the part whose layout has been stable since CUPTI 11.8; the lengths
// are queried from the library itself (record_sizes.h). So one binary works with every CUPTI and is
// built without NVIDIA's headers. tests/profiler/cupti compares the offsets with those headers if
// available.
//
// Pointers are addresses in the program: plain numbers here, never followed. An id with all bits
// set means none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope {

// The recorded kinds, numbered as in CUpti_ActivityKind.
enum class ActivityKind : std::uint32_t {
  kCopy = 1,
  kMemset = 2,
  kDriverCall = 4,
  kRuntimeCall = 5,
  kDevice = 8,
  kContext = 9,
  kKernel = 10,    // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL; also each one of a CUDA graph
  kOverhead = 17,  // other work of the driver and CUPTI: compile, load, flush
  kPeerCopy = 22,
  kSync = 38,
};
inline constexpr ActivityKind kRecordedKinds[] = {
    ActivityKind::kDevice,     ActivityKind::kContext, ActivityKind::kRuntimeCall,
    ActivityKind::kDriverCall, ActivityKind::kSync,    ActivityKind::kMemset,
    ActivityKind::kPeerCopy,   ActivityKind::kCopy,    ActivityKind::kKernel,
    ActivityKind::kOverhead,
};
inline constexpr std::uint32_t kMaxActivityKind = 63;

inline constexpr std::uint32_t kNoCuptiId = 0xffffffff;

struct ApiRecord {
  std::uint32_t kind;
  std::uint32_t callback;  // the id of the function
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t process;
  std::uint32_t thread;  // the system's id
  std::uint32_t correlation;
  std::uint32_t result;
};

struct CopyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t source;
  std::uint8_t target;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
};

struct PeerCopyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t source;
  std::uint8_t target;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t source_device;
  std::uint32_t source_context;
  std::uint32_t target_device;
  std::uint32_t target_context;
  std::uint32_t correlation;
};

struct MemsetRecord {
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
};

struct KernelRecord {
  std::uint32_t kind;
  std::uint16_t cache_config;
  std::uint16_t registers;
  std::uint64_t unused_cache;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t completed;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t static_shared_bytes;
  std::uint32_t dynamic_shared_bytes;
  std::uint32_t unused_local[2];
  std::uint32_t correlation;
  std::uint64_t grid_id;
  std::uint64_t name;  // the mangled name's address
  std::uint64_t unused_launch[4];
  std::uint64_t graph_node;
  std::uint32_t unused_shared;
  std::uint32_t graph;
};

struct SyncRecord {
  std::uint32_t kind;
  std::uint32_t type;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t event;
};

struct OverheadRecord {
  std::uint32_t kind;
  std::uint32_t type;    // OverheadType
  std::uint32_t object;  // kThreadObject: a process and one of its threads follow
  std::uint32_t process;
  std::uint32_t thread;  // the system's id
  std::uint32_t unused_stream;
  std::uint64_t start;
  std::uint64_t end;
};
inline constexpr std::uint32_t kThreadObject = 2;  // CUPTI_ACTIVITY_OBJECT_THREAD

// CUpti_ActivityOverheadKind as of CUPTI 13.5.
enum class OverheadType : std::uint32_t {
  kCompiler = 1,
  kBufferFlush = 1U << 16,
  kInstrumentation = 2U << 16,
  kResource = 3U << 16,
  kModuleLoading = 4U << 16,
  kFunctionLoading = 5U << 16,
  kCommandBufferFull = 6U << 16,
  kBufferRequest = 7U << 16,
  kManagedMemory = 8U << 16,
};

struct ContextRecord {
  std::uint32_t kind;
  std::uint32_t context;
  std::uint32_t device;
};

struct DeviceRecord {
  std::uint32_t kind;
  std::uint32_t flags;
  std::uint64_t unused_bandwidth;
  std::uint64_t memory_bytes;
  std::uint32_t unused_memory[2];
  std::uint32_t threads_per_warp;
  std::uint32_t unused_rates[2];
  std::uint32_t multiprocessors;
  std::uint32_t unused_warps;
  std::uint32_t max_warps_per_multiprocessor;
  std::uint32_t unused_blocks;
  std::uint32_t shared_bytes_per_multiprocessor;
  std::uint32_t registers_per_multiprocessor;
  std::uint32_t unused_limits[9];
  std::uint32_t compute_major;
  std::uint32_t compute_minor;
  std::uint32_t number;
  std::uint32_t unused_ecc;
  std::uint8_t uuid[16];
  std::uint64_t name;  // the text's address
};

static_assert(sizeof(ApiRecord) == 40 && sizeof(CopyRecord) == 48 && sizeof(PeerCopyRecord) == 64);
static_assert(sizeof(MemsetRecord) == 48 && sizeof(SyncRecord) == 40 &&
              sizeof(OverheadRecord) == 40 && sizeof(DeviceRecord) == 144);
static_assert(sizeof(KernelRecord) == 160 && sizeof(ContextRecord) == 12);

// The length of a record of each kind; 0: unknown.
struct RecordSizes {
  std::uint32_t bytes[kMaxActivityKind + 1] = {};

  [[nodiscard]] std::uint32_t of(std::uint32_t kind) const {
    return kind <= kMaxActivityKind ? bytes[kind] : 0;
  }
  [[nodiscard]] std::uint32_t of(ActivityKind kind) const {
    return of(static_cast<std::uint32_t>(kind));
  }
};

}  // namespace stepscope
