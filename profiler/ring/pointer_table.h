// Which memory is held, by address: whoever frees it does not say how much it was.
//
// A table of a fixed size without tombstones: an address may lie in any of the kWindow entries from
// its own on, and a search looks at all of them. Where they are full the address is not kept, and
// its free is not seen either.
//
// Thread safety: any thread, without locks. An address is held by one owner at a time, so the only
// race is for an empty entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepscope {

// Lives in zeroed memory, which is all the making it needs; what is not used is never touched.
class PointerTable {
 public:
  // Returns the bytes to count as held from now on: `bytes`, less what the address stood for before
  // when its free was not seen; 0 when it could not be kept.
  std::int64_t insert(const void* pointer, std::uint64_t bytes) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    for (std::size_t i = 0; i < kWindow; ++i) {
      Entry& entry = at(key, i);
      std::uintptr_t there = entry.pointer.load(std::memory_order_relaxed);
      const bool ours = there == key || (there == 0 && entry.pointer.compare_exchange_strong(
                                                           there, key, std::memory_order_acquire));
      if (!ours) continue;
      const std::uint64_t before = entry.bytes.load(std::memory_order_relaxed);
      entry.bytes.store(bytes, std::memory_order_relaxed);
      return static_cast<std::int64_t>(bytes - before);
    }
    return 0;
  }

  // The bytes that are held no longer; 0 for an address that is not kept.
  std::int64_t erase(const void* pointer) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    for (std::size_t i = 0; i < kWindow; ++i) {
      Entry& entry = at(key, i);
      if (entry.pointer.load(std::memory_order_relaxed) != key) continue;
      const std::uint64_t bytes = entry.bytes.load(std::memory_order_relaxed);
      entry.bytes.store(0, std::memory_order_relaxed);
      entry.pointer.store(0, std::memory_order_release);
      return static_cast<std::int64_t>(bytes);
    }
    return 0;
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> pointer;  // 0: empty
    std::atomic<std::uint64_t> bytes;
  };
  static constexpr std::size_t kEntries = std::size_t{1} << 19;
  static constexpr std::size_t kWindow = 16;

  // Neighbours in memory are neighbours here, so that few pages are touched. libtorch aligns
  // tensors to 64 bytes; large ones come from mmap() at whole pages, told apart by their higher
  // bits.
  Entry& at(std::uintptr_t key, std::size_t ahead) {
    const std::uintptr_t home = (key >> 6) ^ (key >> 25);
    return entries_[(home + ahead) % kEntries];
  }

  Entry entries_[kEntries];
};

}  // namespace stepscope
