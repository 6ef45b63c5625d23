#include "profiler/session/tensor_memory.h"

#include <sys/mman.h>

#include <atomic>

#include "profiler/ring/pointer_table.h"
#include "profiler/session/current_thread.h"

namespace stepscope {
namespace {

std::atomic<PointerTable*> held{nullptr};  // null: not counting
std::atomic<DeviceMemory*> devices{nullptr};

}  // namespace

void start_counting_tensor_memory(DeviceMemory* of_devices) {
  devices = of_devices;
  if (held.load() != nullptr) return;
  void* memory = mmap(nullptr, sizeof(PointerTable), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) held.store(static_cast<PointerTable*>(memory));
}

void stop_counting_tensor_memory() {
  devices = nullptr;
  if (PointerTable* table = held.exchange(nullptr)) munmap(table, sizeof(PointerTable));
}

void note_tensor_memory(const void* pointer, std::size_t bytes) {
  PointerTable* table = held.load(std::memory_order_relaxed);
  if (table == nullptr || pointer == nullptr || bytes == 0) return;
  if (ThreadRecorder* recorder = current_thread()) {
    const bool kept = bytes >= PointerTable::kLeast;
    recorder->count_allocation(bytes, kept ? table->insert(pointer, bytes) : 0);
  }
}

void note_tensor_memory_freed(const void* pointer) {
  PointerTable* table = held.load(std::memory_order_relaxed);
  if (table == nullptr || pointer == nullptr) return;
  const std::int64_t bytes = table->erase(pointer);  // also when nobody can count it: it is gone
  if (ThreadRecorder* recorder = current_thread()) recorder->count_free(bytes);
}

void note_device_memory(int device, std::int64_t allocated, std::int64_t reserved) {
  DeviceMemory* const all = devices.load(std::memory_order_relaxed);
  if (all == nullptr || device < 0 || device >= static_cast<int>(kMostDevices)) return;
  DeviceMemory& memory = all[device];
  memory.allocated.store(allocated, std::memory_order_relaxed);
  memory.reserved.store(reserved, std::memory_order_relaxed);
  memory.reports.fetch_add(1, std::memory_order_release);
}

}  // namespace stepscope
