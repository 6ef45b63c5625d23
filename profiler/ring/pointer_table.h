// Which memory is held, by address: whoever frees it does not say how much it was.
//
// For blocks of kLeast bytes and more. A free of any size must be looked up, and what that costs is
// the cache lines it touches; with one line for each 16 KiB of addresses they are few, and where
// blocks are that large the four places of a line are rarely all taken. When they are, the block is
// not kept, and its free is not seen either.
//
// Thread safety: any thread, without locks. An address is held by one owner at a time, so the only
// race is for an empty place.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepscope {

// Lives in zeroed memory, which is all the making it needs; what is not used is never touched.
class PointerTable {
 public:
  static constexpr std::uint64_t kLeast = std::uint64_t{16} << 10;

  // Returns the bytes to count as held from now on: `bytes`, less what the address stood for before
  // when its free was not seen; 0 when it could not be kept.
  std::int64_t insert(const void* pointer, std::uint64_t bytes) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    for (Entry& entry : line_of(key).entries) {
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
    for (Entry& entry : line_of(key).entries) {
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
  struct alignas(64) Line {
    Entry entries[4];
  };
  static constexpr std::size_t kLines = std::size_t{1} << 17;

  // The higher bits tell apart what lies 2 GiB away.
  Line& line_of(std::uintptr_t key) { return lines_[((key >> 14) ^ (key >> 31)) % kLines]; }

  Line lines_[kLines];
};

}  // namespace stepscope
