// Parses the names in a Kineto trace: categories, copies, waits, threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/device_events.h"

namespace stepscope {

// What an event of a category becomes. Kineto's names, of 2021 and of today.
enum class KinetoKind : std::uint8_t {
  kOp,          // cpu_op; Operator (then user annotations too)
  kAnnotation,  // user_annotation: a record_function of the host
  kCall,        // cuda_runtime, cuda_driver, and those of other devices; Runtime
  kKernel,      // kernel; Kernel
  kCopy,        // gpu_memcpy; Memcpy
  kMemset,      // gpu_memset; Memset
  kSync,        // cuda_sync
  kPython,      // python_function: not imported
  kRedundant,   // repeats another event, or is not needed: flows, gpu_user_annotation, Trace, …
  kUnknown,
};
inline constexpr int kKinetoKindCount = 10;
KinetoKind kineto_kind(std::string_view category);

// "Memcpy HtoD (Pageable -> Device)". Anything else is kUnknown.
struct CopyName {
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
};
CopyName parse_copy_name(std::string_view name);

// "Stream Sync" and the like.
SyncKind parse_sync_kind(std::string_view name);

// N of "ProfilerStep#N", with which torch.profiler marks a step.
std::optional<std::int64_t> profiler_step(std::string_view name);

// An autograd node, or the engine's call of one. In traces of 2021 the engine's calls are missing,
// and so are the sequence numbers of AccumulateGrad.
bool is_autograd_node(std::string_view name, std::int64_t forward_thread);

// "python" of "thread 25772 (python)", Kineto's way to name a thread; any other name unchanged.
std::string_view own_thread_name(std::string_view name);

// 3 of a file name such as "run_rank3.pt.trace.json" or "rank-3.json"; none when there is no
// "rank".
std::optional<std::int64_t> rank_in_file_name(std::string_view name);

}  // namespace stepscope
