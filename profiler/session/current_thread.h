// The calling thread's recorder: one thread-local pointer, set with the thread's first event.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/ring/ring_registry.h"
#include "profiler/visibility.h"

namespace stepscope {

// initial-exec: a single load relative to the thread pointer, even from the hook library. The
// static TLS block has a reserve with room for the few bytes of a dlopen()ed library.
STEPSCOPE_INTERNAL extern constinit thread_local ThreadRecorder* thread_recorder
    __attribute__((tls_model("initial-exec")));

// Number of the running recording, or of the last one.
STEPSCOPE_INTERNAL extern std::atomic<std::uint32_t> current_session;

// Creates the calling thread's recorder, or moves it to the current session. nullptr if the thread
// cannot have one (out of memory, too many threads); tried only once per recording.
STEPSCOPE_INTERNAL ThreadRecorder* attach_current_thread();

// Never allocates except for a thread's first event in a recording.
inline ThreadRecorder* current_thread() {
  ThreadRecorder* recorder = thread_recorder;
  const bool ready =
      recorder != nullptr && recorder->session() == current_session.load(std::memory_order_relaxed);
  return ready ? recorder : attach_current_thread();
}

// The process's rings. Never destroyed: threads may outlive static destructors.
STEPSCOPE_INTERNAL RingRegistry& ring_registry();

// The function that returns the calling thread's torch id; set once by the hook library.
using TorchIdFunction = std::uint64_t (*)();
STEPSCOPE_INTERNAL void set_torch_id_function(TorchIdFunction function);

}  // namespace stepscope
