#include "profiler/ring/ring_registry.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "profiler/ring/prefault.h"

namespace stepscope {
namespace {

// The header of a ring and its first slots, in whole pages.
constexpr std::size_t kFirstPartBytes = kRingPartBytes + (std::size_t{8} << 10);
static_assert(sizeof(RingHeader) <= kFirstPartBytes - kRingPartBytes);

}  // namespace

void RecorderList::add(ThreadRecorder* recorder) {
  recorder->set_next_in_list(first_);
  first_ = recorder;
}

bool RecorderList::remove(ThreadRecorder* recorder) {
  ThreadRecorder* before = nullptr;
  for (ThreadRecorder* one = first_; one != nullptr; before = one, one = one->next_in_list()) {
    if (one != recorder) continue;
    if (before == nullptr) {
      first_ = one->next_in_list();
    } else {
      before->set_next_in_list(one->next_in_list());
    }
    return true;
  }
  return false;
}

void RecorderList::add_all(RecorderList& other) {
  while (ThreadRecorder* one = other.first_) {
    other.first_ = one->next_in_list();
    add(one);
  }
}

void RingRegistry::use(const Region& region) {
  const std::scoped_lock lock(mutex_);
  region_ = region;
}

Region RingRegistry::region() const {
  const std::scoped_lock lock(mutex_);
  return region_;
}

// A ring whose thread has ended and that was drained, else a new one.
RingHeader* RingRegistry::claim_ring() {
  RegionHeader& header = *region_.header;
  const std::uint32_t made = header.ring_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < made; ++i) {
    RingHeader* ring = region_.ring(i);
    if (ring->state.load(std::memory_order_acquire) == RingState::kFree) return ring;
  }
  if (made >= region_.layout.ring_capacity) return nullptr;
  return region_.ring(made);
}

// Of the first threads, the whole ring: they do nearly all the work of a training process, and an
// allocation would delay an event. A process with hundreds of threads must not get 2 MiB larger for
// each of them: their rings grow with what they record.
std::size_t RingRegistry::bytes_for_next_ring() const {
  constexpr std::uint32_t kWholeRings = 16;
  const std::size_t whole = region_.layout.ring_stride;
  if (region_.header->ring_count.load(std::memory_order_relaxed) < kWholeRings) return whole;
  return std::min(whole, kFirstPartBytes);
}

ThreadRecorder* RingRegistry::add_current_thread() {
  const std::scoped_lock lock(mutex_);
  if (!region_) return nullptr;
  RegionHeader& header = *region_.header;
  RingHeader* ring = claim_ring();
  const bool taken_over = ring != nullptr && ring->magic == kRingMagic;
  const std::size_t bytes = bytes_for_next_ring();
  if (ring == nullptr || (!taken_over && !prefault(ring, bytes))) {
    header.refused_threads.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const auto tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  if (taken_over) {
    reopen_ring(ring, tid, name);
  } else {
    format_ring(ring, region_.layout.slot_count, getpid(), tid, name, bytes);
    header.ring_count.fetch_add(1, std::memory_order_release);
  }
  auto* recorder = new (std::nothrow) ThreadRecorder(ring);
  if (recorder == nullptr) {
    ring->state.store(RingState::kClosed, std::memory_order_release);
    header.refused_threads.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  recorders_.add(recorder);
  return recorder;
}

bool RingRegistry::is_current(ThreadRecorder* recorder) const {
  const std::scoped_lock lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(&recorder->ring());
  const auto begin = reinterpret_cast<std::uintptr_t>(region_.header);
  return begin <= at && at < begin + region_.mapped_bytes;
}

void RingRegistry::close(ThreadRecorder* recorder) {
  const std::scoped_lock lock(mutex_);
  recorder->ring().state.store(RingState::kClosed, std::memory_order_release);
  if (recorders_.remove(recorder)) delete recorder;
}

void RingRegistry::end_elsewhere(std::uint64_t torch_id, const void* identity) {
  const std::scoped_lock lock(mutex_);  // so that no ring changes its thread meanwhile
  recorders_.for_each([&](ThreadRecorder& recorder) {
    const bool began_it = recorder.ring().torch_id.load(std::memory_order_relaxed) == torch_id;
    if (began_it) recorder.take_off(identity);
  });
}

// The recorders are kept, although their threads do not exist here. To free 300 KiB each would be
// the first thing that a child does, and many a child only wants to exec(). They are kept where a
// leak checker finds them.
void RingRegistry::abandon_in_child() {
  abandoned_.add_all(recorders_);
  region_ = {};
  mutex_.unlock();
}

}  // namespace stepscope
