#include "profiler/session/current_thread.h"

#include "profiler/session/session.h"

namespace stepscope {

constinit thread_local ThreadRecorder* thread_recorder = nullptr;
std::atomic<std::uint32_t> current_session{0};

namespace {

std::atomic<TorchIdFunction> torch_id_function{nullptr};

// Gives the ring back when the thread ends. An op that runs later still, in another thread-local's
// destructor, is not recorded.
struct EndOfThread {
  bool ended = false;
  ~EndOfThread() {
    ended = true;
    if (thread_recorder != nullptr) ring_registry().close(thread_recorder);
    thread_recorder = nullptr;
  }
};
thread_local EndOfThread end_of_thread;

}  // namespace

ThreadRecorder* attach_current_thread() {
  if (end_of_thread.ended) return nullptr;
  if (thread_recorder == nullptr) {
    // A forked child has no region yet. Not in the middle of its parent's recording: see Session.
    if (!ring_registry().region() && !Session::get().join_wrapper()) return nullptr;
    thread_recorder = ring_registry().add_current_thread();
  } else if (!ring_registry().is_current(thread_recorder)) {
    ring_registry().close(thread_recorder);
    thread_recorder = ring_registry().add_current_thread();
  }
  if (thread_recorder == nullptr) return nullptr;
  const TorchIdFunction torch_id = torch_id_function.load(std::memory_order_acquire);
  thread_recorder->begin_session(current_session.load(std::memory_order_relaxed),
                                 torch_id == nullptr ? 0 : torch_id());
  return thread_recorder;
}

RingRegistry& ring_registry() {
  static auto* const registry = new RingRegistry;
  return *registry;
}

void set_torch_id_function(TorchIdFunction function) {
  torch_id_function.store(function, std::memory_order_release);
}

}  // namespace stepscope
