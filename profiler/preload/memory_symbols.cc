// The header-free layer: the memory of tensors on the CPU. libc10's allocator tells its own
// reporter of every allocation and free, profiled or not, through symbols that a library before it
// can take.
#include <atomic>

#include "profiler/preload/libtorch_symbol.h"
#include "profiler/session/tensor_memory.h"
#include "stepscope/c_api.h"

namespace {

using New = void (*)(void* self, void* pointer, std::size_t bytes);
using Delete = void (*)(void* self, void* pointer);

// libc10's own. Unlike a phase, an allocation may come so early (in a constructor of a library)
// that it is not to be found yet; the reporter, which only counts, is then not told.
template <typename Function>
Function libc10_function(std::atomic<Function>& known, const char* name) {
  Function function = known.load(std::memory_order_relaxed);
  if (function != nullptr) [[likely]]
    return function;
  function = reinterpret_cast<Function>(stepscope::find_libtorch_symbol(name));
  known.store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace

// c10::ProfiledCPUMemoryReporter::New(void* pointer, size_t bytes)
#define STEPSCOPE_MEMORY_NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
// c10::ProfiledCPUMemoryReporter::Delete(void* pointer)
#define STEPSCOPE_MEMORY_DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"

extern "C" STEPSCOPE_API void stepscope_memory_new(void*, void*,
                                                   std::size_t) __asm__(STEPSCOPE_MEMORY_NEW);
extern "C" void stepscope_memory_new(void* self, void* pointer, std::size_t bytes) {
  static std::atomic<New> known{nullptr};
  stepscope::note_tensor_memory(pointer, bytes);
  if (const New report = libc10_function(known, STEPSCOPE_MEMORY_NEW)) report(self, pointer, bytes);
}

extern "C" STEPSCOPE_API void stepscope_memory_delete(void*,
                                                      void*) __asm__(STEPSCOPE_MEMORY_DELETE);
extern "C" void stepscope_memory_delete(void* self, void* pointer) {
  static std::atomic<Delete> known{nullptr};
  stepscope::note_tensor_memory_freed(pointer);
  if (const Delete report = libc10_function(known, STEPSCOPE_MEMORY_DELETE)) report(self, pointer);
}
