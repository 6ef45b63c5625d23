// What activity_records.h and record_sizes.cc say of CUPTI, held against a real one: its headers
// where the build found them, and its libraries where STEPSCOPE_TEST_CUPTI names some (separated by
// colons). Neither needs a GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "profiler/cupti/query_calls.h"
#include "profiler/cupti/record_sizes.h"

#ifdef STEPSCOPE_CUPTI_HEADERS
#include <cuda.h>
#include <cupti.h>
#endif

namespace stepscope {
namespace {

#ifdef STEPSCOPE_CUPTI_HEADERS
#define SAME_PLACE(Ours, our_field, Theirs, their_field)                     \
  static_assert(offsetof(Ours, our_field) == offsetof(Theirs, their_field)); \
  static_assert(sizeof(Ours::our_field) == sizeof(Theirs::their_field))

SAME_PLACE(ApiRecord, callback, CUpti_ActivityAPI, cbid);
SAME_PLACE(ApiRecord, start, CUpti_ActivityAPI, start);
SAME_PLACE(ApiRecord, end, CUpti_ActivityAPI, end);
SAME_PLACE(ApiRecord, thread, CUpti_ActivityAPI, threadId);
SAME_PLACE(ApiRecord, correlation, CUpti_ActivityAPI, correlationId);

// The first that has the fields; every later one begins with the same.
#define SAME_ACTIVITY(Ours, Theirs)             \
  SAME_PLACE(Ours, start, Theirs, start);       \
  SAME_PLACE(Ours, end, Theirs, end);           \
  SAME_PLACE(Ours, device, Theirs, deviceId);   \
  SAME_PLACE(Ours, context, Theirs, contextId); \
  SAME_PLACE(Ours, stream, Theirs, streamId);   \
  SAME_PLACE(Ours, correlation, Theirs, correlationId)

#define SAME_COPY(Ours, Theirs)                  \
  SAME_ACTIVITY(Ours, Theirs);                   \
  SAME_PLACE(Ours, copy_kind, Theirs, copyKind); \
  SAME_PLACE(Ours, source, Theirs, srcKind);     \
  SAME_PLACE(Ours, target, Theirs, dstKind);     \
  SAME_PLACE(Ours, bytes, Theirs, bytes)

#define SAME_KERNEL(Theirs)                                                    \
  SAME_ACTIVITY(KernelRecord, Theirs);                                         \
  SAME_PLACE(KernelRecord, registers, Theirs, registersPerThread);             \
  SAME_PLACE(KernelRecord, grid[0], Theirs, gridX);                            \
  SAME_PLACE(KernelRecord, grid[2], Theirs, gridZ);                            \
  SAME_PLACE(KernelRecord, block[0], Theirs, blockX);                          \
  SAME_PLACE(KernelRecord, static_shared_bytes, Theirs, staticSharedMemory);   \
  SAME_PLACE(KernelRecord, dynamic_shared_bytes, Theirs, dynamicSharedMemory); \
  SAME_PLACE(KernelRecord, name, Theirs, name);                                \
  SAME_PLACE(KernelRecord, graph_node, Theirs, graphNodeId);                   \
  SAME_PLACE(KernelRecord, graph, Theirs, graphId)

SAME_KERNEL(CUpti_ActivityKernel8);
SAME_COPY(CopyRecord, CUpti_ActivityMemcpy5);
SAME_COPY(PeerCopyRecord, CUpti_ActivityMemcpyPtoP4);
SAME_ACTIVITY(MemsetRecord, CUpti_ActivityMemset4);
SAME_PLACE(MemsetRecord, bytes, CUpti_ActivityMemset4, bytes);
#if CUPTI_API_VERSION >= 130000
SAME_KERNEL(CUpti_ActivityKernel10);
SAME_COPY(CopyRecord, CUpti_ActivityMemcpy6);
#endif

SAME_PLACE(SyncRecord, type, CUpti_ActivitySynchronization, type);
SAME_PLACE(SyncRecord, start, CUpti_ActivitySynchronization, start);
SAME_PLACE(SyncRecord, end, CUpti_ActivitySynchronization, end);
SAME_PLACE(SyncRecord, correlation, CUpti_ActivitySynchronization, correlationId);
SAME_PLACE(SyncRecord, context, CUpti_ActivitySynchronization, contextId);
SAME_PLACE(SyncRecord, stream, CUpti_ActivitySynchronization, streamId);
SAME_PLACE(OverheadRecord, type, CUpti_ActivityOverhead, overheadKind);
SAME_PLACE(OverheadRecord, object, CUpti_ActivityOverhead, objectKind);
static_assert(offsetof(OverheadRecord, process) == offsetof(CUpti_ActivityOverhead, objectId));
SAME_PLACE(OverheadRecord, start, CUpti_ActivityOverhead, start);
SAME_PLACE(OverheadRecord, end, CUpti_ActivityOverhead, end);
static_assert(offsetof(CUpti_ActivityObjectKindId, pt.threadId) == sizeof(std::uint32_t));
static_assert(kThreadObject == CUPTI_ACTIVITY_OBJECT_THREAD);
SAME_PLACE(ContextRecord, context, CUpti_ActivityContext, contextId);
SAME_PLACE(ContextRecord, device, CUpti_ActivityContext, deviceId);
SAME_PLACE(DeviceRecord, memory_bytes, CUpti_ActivityDevice4, globalMemorySize);
SAME_PLACE(DeviceRecord, threads_per_warp, CUpti_ActivityDevice4, numThreadsPerWarp);
SAME_PLACE(DeviceRecord, multiprocessors, CUpti_ActivityDevice4, numMultiprocessors);
SAME_PLACE(DeviceRecord, max_warps_per_multiprocessor, CUpti_ActivityDevice4,
           maxWarpsPerMultiprocessor);
SAME_PLACE(DeviceRecord, shared_bytes_per_multiprocessor, CUpti_ActivityDevice4,
           maxSharedMemoryPerMultiprocessor);
SAME_PLACE(DeviceRecord, registers_per_multiprocessor, CUpti_ActivityDevice4,
           maxRegistersPerMultiprocessor);
SAME_PLACE(DeviceRecord, compute_major, CUpti_ActivityDevice4, computeCapabilityMajor);
SAME_PLACE(DeviceRecord, compute_minor, CUpti_ActivityDevice4, computeCapabilityMinor);
SAME_PLACE(DeviceRecord, number, CUpti_ActivityDevice4, id);
SAME_PLACE(DeviceRecord, uuid, CUpti_ActivityDevice4, uuid);
SAME_PLACE(DeviceRecord, name, CUpti_ActivityDevice4, name);

#define SAME_KIND(ours, theirs) static_assert(static_cast<int>(ActivityKind::ours) == theirs)
SAME_KIND(kCopy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_KIND(kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_KIND(kDriverCall, CUPTI_ACTIVITY_KIND_DRIVER);
SAME_KIND(kRuntimeCall, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME_KIND(kDevice, CUPTI_ACTIVITY_KIND_DEVICE);
SAME_KIND(kContext, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME_KIND(kKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_KIND(kPeerCopy, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_KIND(kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME_KIND(kSync, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);

TEST(RealCuptiTest, TheHeadersAgree) {
  RecordProperty("cupti_api_version", CUPTI_API_VERSION);  // what is compared is compared above
}
#else
TEST(RealCuptiTest, TheHeadersAgree) {
  GTEST_SKIP() << "no CUPTI headers: install a CUDA toolkit or, with pip into .venv, "
                  "nvidia-cuda-cupti, nvidia-cuda-runtime and nvidia-cuda-crt";
}
#endif

TEST(RealCuptiTest, TheLibrariesRecordsAreKnown) {
  const char* paths = std::getenv("STEPSCOPE_TEST_CUPTI");
  if (paths == nullptr || *paths == '\0') paths = STEPSCOPE_CUPTI_LIBRARY;
  if (*paths == '\0') GTEST_SKIP() << "no libcupti found by the build";
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ':');) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) GTEST_SKIP() << dlerror();
    const auto version =
        reinterpret_cast<int (*)(std::uint32_t*)>(dlsym(library, "cuptiGetVersion"));
    const auto next = reinterpret_cast<NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
    ASSERT_TRUE(version != nullptr && next != nullptr) << path;
    std::uint32_t number = 0;
    if (version(&number) != 0) GTEST_SKIP() << path << " answers nothing without a driver";
    const auto unknown = find_unknown_record(measure_record_sizes(next));
    EXPECT_FALSE(unknown) << path << ": " << unknown->kind << " records of " << unknown->bytes;
  }
}

// The names are CUPTI's own, which it tells without a driver.
TEST(RealCuptiTest, QueriesAreToldFromWork) {
  const std::string paths = STEPSCOPE_CUPTI_LIBRARY;
  void* library = paths.empty() ? nullptr : dlopen(paths.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no libcupti found by the build";
  const auto name_of = reinterpret_cast<int (*)(int, std::uint32_t, const char**)>(
      dlsym(library, "cuptiGetCallbackName"));
  ASSERT_NE(name_of, nullptr);
  std::map<std::string, bool> query;  // by name, without the release
  for (const int domain : {1, 2}) {
    for (std::uint32_t function = 1; function < 2000; ++function) {
      const char* name = nullptr;
      if (name_of(domain, function, &name) != 0 || name == nullptr) continue;
      const std::string text = name;
      query[text.substr(0, text.rfind("_v"))] = is_query_call(text);
    }
  }
  if (query.empty()) GTEST_SKIP() << paths << " answers nothing without a driver";
  for (const char* name : {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cuCtxGetCurrent",
                           "cudaPeekAtLastError", "cudaFuncGetAttributes", "cudaStreamIsCapturing",
                           "cuDevicePrimaryCtxGetState", "cudaPointerGetAttributes"}) {
    ASSERT_TRUE(query.contains(name)) << name;
    EXPECT_TRUE(query[name]) << name;
  }
  const char* const kWork[] = {"Launch",     "Memcpy",     "Memset",     "Synchronize",
                               "Malloc",     "Free",       "MemAlloc",   "EventRecord",
                               "WaitEvent",  "HostAlloc",  "ModuleLoad", "MemGetInfo",
                               "EventQuery", "LibraryLoad"};
  for (const auto& [name, is_query] : query) {
    const bool works = std::ranges::any_of(
        kWork, [&name = name](const char* part) { return name.find(part) != std::string::npos; });
    const bool asks =
        name.find("Get") != std::string::npos && name.find("MemGetInfo") == std::string::npos;
    EXPECT_FALSE(works && is_query && !asks) << name;
  }
}

}  // namespace
}  // namespace stepscope
