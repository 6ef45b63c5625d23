#include "profiler/session/current_thread.h"

#include <pthread.h>

#include <cstddef>
#include <new>
#include <optional>

#include "profiler/session/session.h"

namespace stepscope {

constinit thread_local ThreadRecorder* thread_recorder = nullptr;
// Never 0, because refused_in_session is 0 in threads that were never refused a ring. A thread may
// ask for a ring while another begins the first session.
std::atomic<std::uint32_t> current_session{1};

namespace {

std::atomic<TorchIdFunction> torch_id_function{nullptr};

// The recording in which the thread found no ring. The thread does not ask again for each event.
thread_local std::uint32_t refused_in_session = 0;

void end_thread(void*) {
  Session::get().thread_ends();
  if (thread_recorder != nullptr) ring_registry().close(thread_recorder);
  thread_recorder = nullptr;
}

// Gives the ring back when the thread ends. Uses a pthread key, not a thread_local object:
// thread_local objects of the program may be destroyed after ours and record in their destructors.
// The destructors of keys run after all of those, and run again for a key that was set again
// because another key's destructor recorded.
void call_at_end_of_thread() {
  static const auto key = [] {
    pthread_key_t made{};
    return pthread_key_create(&made, end_thread) == 0 ? std::optional(made) : std::nullopt;
  }();
  // Without a key (a process has 1024), the thread keeps its ring; there are as many rings.
  if (key) pthread_setspecific(*key, &thread_recorder);
}

ThreadRecorder* claim_recorder() {
  const std::uint32_t session = current_session.load(std::memory_order_relaxed);
  if (refused_in_session == session) return nullptr;
  ThreadRecorder* recorder = ring_registry().add_current_thread();
  if (recorder == nullptr) {
    refused_in_session = session;
  } else {
    call_at_end_of_thread();
  }
  return recorder;
}

}  // namespace

ThreadRecorder* attach_current_thread() {
  if (thread_recorder == nullptr) {
    // A forked child has no region yet. It cannot join in the middle of its parent's recording: see
    // Session.
    if (!ring_registry().region() && !Session::get().join_wrapper()) return nullptr;
    thread_recorder = claim_recorder();
  } else if (!ring_registry().is_current(thread_recorder)) {
    ring_registry().close(thread_recorder);
    thread_recorder = claim_recorder();
  }
  if (thread_recorder == nullptr) return nullptr;
  const TorchIdFunction torch_id = torch_id_function.load(std::memory_order_acquire);
  thread_recorder->begin_session(current_session.load(std::memory_order_relaxed),
                                 torch_id == nullptr ? 0 : torch_id());
  return thread_recorder;
}

RingRegistry& ring_registry() {
  alignas(RingRegistry) static std::byte memory[sizeof(RingRegistry)];  // see Session::get()
  static auto* const registry = new (memory) RingRegistry;
  return *registry;
}

void set_torch_id_function(TorchIdFunction function) {
  torch_id_function.store(function, std::memory_order_release);
}

}  // namespace stepscope
