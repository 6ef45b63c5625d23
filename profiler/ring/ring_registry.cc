#include "profiler/ring/ring_registry.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace stepscope {
namespace {

// Prefaulted: the first touch of a page costs as much as a hundred events.
void* map_ring(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

ThreadRing::~ThreadRing() {
  recorder.reset();
  if (header != nullptr) munmap(header, bytes);
}

void RingRegistry::set_ring_bytes(std::size_t ring_bytes) {
  const std::scoped_lock lock(mutex_);
  ring_bytes_ = ring_bytes == 0 ? kDefaultRingBytes : ring_bytes;
}

ThreadRecorder* RingRegistry::add_current_thread() {
  const std::scoped_lock lock(mutex_);
  const std::uint32_t slots = slots_that_fit(ring_bytes_);
  auto ring = std::unique_ptr<ThreadRing>(new (std::nothrow) ThreadRing);
  if (ring == nullptr || rings_.size() >= kMaxRings) {
    ++refused_threads_;
    return nullptr;
  }
  ring->bytes = stepscope::ring_bytes(slots);
  void* memory = map_ring(ring->bytes);
  if (memory == nullptr) {
    ++refused_threads_;
    return nullptr;
  }
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  ring->header =
      format_ring(memory, slots, getpid(), static_cast<std::int32_t>(syscall(SYS_gettid)), name);
  ring->recorder = std::unique_ptr<ThreadRecorder>(new (std::nothrow) ThreadRecorder(ring->header));
  ThreadRecorder* recorder = ring->recorder.get();
  if (recorder == nullptr) {
    ++refused_threads_;
    return nullptr;
  }
  rings_.push_back(std::move(ring));
  return recorder;
}

void RingRegistry::close(ThreadRecorder* recorder) {
  // Under the lock, so that the recorder cannot free the ring while it is being marked.
  const std::scoped_lock lock(mutex_);
  recorder->ring().state.store(RingState::kClosed, std::memory_order_release);
}

void RingRegistry::end_elsewhere(std::uint64_t torch_id, const void* identity) {
  const std::scoped_lock lock(mutex_);  // keeps the ring from being freed
  for (const auto& ring : rings_) {
    RingHeader& header = *ring->header;
    if (header.torch_id.load(std::memory_order_relaxed) != torch_id) continue;
    const std::uint32_t depth = header.open_depth.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < std::min(depth, kMaxOpenOps); ++i) {
      auto expected = reinterpret_cast<std::uint64_t>(identity);
      std::atomic_ref(header.open_ops[i].identity).compare_exchange_strong(expected, 0);
    }
  }
}

std::vector<ThreadRing*> RingRegistry::rings() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ThreadRing*> all;
  all.reserve(rings_.size());
  for (const auto& ring : rings_) all.push_back(ring.get());
  return all;
}

void RingRegistry::release_closed(ThreadRing* ring) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(rings_, [&](const auto& one) { return one.get() == ring; });
}

std::int64_t RingRegistry::refused_threads() const {
  const std::scoped_lock lock(mutex_);
  return refused_threads_;
}

}  // namespace stepscope
