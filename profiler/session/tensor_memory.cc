#include "profiler/session/tensor_memory.h"

#include <sys/mman.h>

#include <atomic>

namespace stepscope {

constinit std::atomic<PointerTable*> held_blocks{nullptr};
constinit std::atomic<std::uint32_t> counted_session{0};

namespace {

std::atomic<DeviceMemory*> devices{nullptr};
std::atomic<int> devices_seen{0};  // the highest device number that ever reported, plus 1
std::atomic<bool> any_uncounted{false};

DeviceMemory* memory_of(int device) {
  DeviceMemory* const all = devices.load(std::memory_order_relaxed);
  const bool known = all != nullptr && device >= 0 && device < static_cast<int>(kMaxDevices);
  return known ? all + device : nullptr;
}

// Any thread may allocate and free blocks of a device, so this must be atomic.
void add(DeviceMemory& memory, const HeldBlock& block, std::int64_t sign) {
  memory.held_bytes[static_cast<std::size_t>(block.owner)].fetch_add(
      sign * static_cast<std::int64_t>(block.bytes), std::memory_order_relaxed);
}

// Read first: threads that allocate must not share a line that all of them write.
void note_uncounted() {
  if (!any_uncounted.load(std::memory_order_relaxed)) {
    any_uncounted.store(true, std::memory_order_relaxed);
  }
}

}  // namespace

void start_counting_tensor_memory(DeviceMemory* of_devices) {
  devices = of_devices;
  if (held_blocks.load() != nullptr) return;
  void* memory = mmap(nullptr, sizeof(PointerTable), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  held_blocks.store(static_cast<PointerTable*>(memory));
  counted_session.store(current_session.load());
}

void stop_counting_tensor_memory() {
  devices = nullptr;
  counted_session = 0;
  if (PointerTable* table = held_blocks.exchange(nullptr)) munmap(table, sizeof(PointerTable));
}

void note_tensor_memory(const void* pointer, std::size_t bytes) {
  PointerTable* table = held_blocks.load(std::memory_order_relaxed);
  if (table == nullptr) return note_uncounted();
  if (pointer == nullptr || bytes == 0) return;
  ThreadRecorder* const recorder = current_thread();
  if (recorder == nullptr) return;
  recorder->count_allocation(bytes);
  if (bytes < PointerTable::kMin) return;
  const HeldBlock block{bytes, recorder->memory_owner_now()};
  HeldBlock before;
  if (!table->insert(pointer, block, before)) return;
  recorder->count_freed(before);
  recorder->count_held(block);
}

void note_tensor_memory_freed(const void* pointer) {
  PointerTable* table = held_blocks.load(std::memory_order_relaxed);
  if (table == nullptr || pointer == nullptr) return;
  const HeldBlock block = table->erase(pointer);  // even if it cannot be counted below
  if (block.bytes == 0) return;
  if (ThreadRecorder* recorder = current_thread()) recorder->count_freed(block);
}

bool uncounted_tensors() { return any_uncounted.load(std::memory_order_relaxed); }

std::int64_t held_tensor_memory(ThreadRecorder& thread) {
  if (held_blocks.load(std::memory_order_relaxed) == nullptr) return kHeldUnknown;
  std::int64_t bytes = thread.held_bytes();
  const int seen = devices_seen.load(std::memory_order_relaxed);
  for (int device = 0; device < seen; ++device) {
    const DeviceMemory* const memory = memory_of(device);
    if (memory != nullptr) bytes += memory->allocated.load(std::memory_order_relaxed);
  }
  return bytes;
}

void note_device_memory(int device, std::int64_t allocated, std::int64_t reserved) {
  DeviceMemory* const memory = memory_of(device);
  if (memory == nullptr) return;
  if (device >= devices_seen.load(std::memory_order_relaxed))
    devices_seen.store(device + 1, std::memory_order_relaxed);
  memory->allocated.store(allocated, std::memory_order_relaxed);
  memory->reserved.store(reserved, std::memory_order_relaxed);
  memory->reports.fetch_add(1, std::memory_order_release);
}

void note_device_block(int device, const void* pointer, std::int64_t bytes) {
  PointerTable* table = held_blocks.load(std::memory_order_relaxed);
  DeviceMemory* const memory = memory_of(device);
  if (table == nullptr) return note_uncounted();
  if (memory == nullptr || pointer == nullptr) return;
  if (bytes <= 0) return add(*memory, table->erase(pointer), -1);
  if (bytes < static_cast<std::int64_t>(PointerTable::kMin)) return;
  ThreadRecorder* const recorder = current_thread();
  const HeldBlock block{static_cast<std::uint64_t>(bytes),
                        recorder == nullptr ? MemoryOwner::kOther : recorder->memory_owner_now()};
  HeldBlock before;
  if (!table->insert(pointer, block, before)) return;
  add(*memory, before, -1);
  add(*memory, block, 1);
}

}  // namespace stepscope
