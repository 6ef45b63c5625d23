// Which memory is held, by address: whoever frees it does not say how much it was, nor who made it.
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

#include "store/events.h"

namespace stepscope {

// A block and what made it. No bytes: none.
struct HeldBlock {
  std::uint64_t bytes = 0;  // less than 2^56
  MemoryOwner owner = MemoryOwner::kOther;
};

// Lives in zeroed memory, which is all the making it needs; what is not used is never touched.
class PointerTable {
 public:
  static constexpr std::uint64_t kLeast = std::uint64_t{16} << 10;

  // False: it could not be kept. `before`: the block that the address stood for, when its free was
  // not seen, and which is held no longer.
  bool insert(const void* pointer, HeldBlock block, HeldBlock& before) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    for (Entry& entry : line_of(key).entries) {
      std::uintptr_t there = entry.pointer.load(std::memory_order_relaxed);
      const bool ours = there == key || (there == 0 && entry.pointer.compare_exchange_strong(
                                                           there, key, std::memory_order_acquire));
      if (!ours) continue;
      before = unpack(entry.block.load(std::memory_order_relaxed));
      entry.block.store(pack(block), std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  // The block that is held no longer; none for an address that is not kept.
  HeldBlock erase(const void* pointer) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    for (Entry& entry : line_of(key).entries) {
      if (entry.pointer.load(std::memory_order_relaxed) != key) continue;
      const HeldBlock block = unpack(entry.block.load(std::memory_order_relaxed));
      entry.block.store(0, std::memory_order_relaxed);
      entry.pointer.store(0, std::memory_order_release);
      return block;
    }
    return {};
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> pointer;  // 0: empty
    std::atomic<std::uint64_t> block;     // packed
  };
  struct alignas(64) Line {
    Entry entries[4];
  };
  static constexpr std::size_t kLines = std::size_t{1} << 17;

  static std::uint64_t pack(HeldBlock block) {
    return static_cast<std::uint64_t>(block.owner) << 56 | block.bytes;
  }
  static HeldBlock unpack(std::uint64_t packed) {
    return {packed & ((std::uint64_t{1} << 56) - 1), static_cast<MemoryOwner>(packed >> 56)};
  }

  // The higher bits tell apart what lies 2 GiB away.
  Line& line_of(std::uintptr_t key) { return lines_[((key >> 14) ^ (key >> 31)) % kLines]; }

  Line lines_[kLines];
};

}  // namespace stepscope
