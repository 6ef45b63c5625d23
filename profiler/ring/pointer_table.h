// The allocated blocks by address. A free states neither the size nor the owner of its block, so
// both are kept here.
//
// Holds only blocks of at least kMin bytes. Every free must be looked up, at the cost of the
// cache lines it touches. One line covers 16 KiB of addresses, so that the lookups touch few lines,
// and blocks this large rarely fill the four entries of a line. If a line is full, the block is not
// stored, and its free is ignored too. Most frees are of smaller blocks, which are not stored: a
// separate byte per line says how many blocks it holds, so a free of 1 MiB of small blocks touches
// a single cache line.
//
// Thread safety: any thread, lock-free. An address has one owner at a time, so threads race only
// for an empty entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "store/events.h"

namespace stepscope {

// A block and its owner. 0 bytes: none.
struct HeldBlock {
  std::uint64_t bytes = 0;  // less than 2^56
  MemoryOwner owner = MemoryOwner::kOther;
};

// Must lie in zeroed memory, which needs no further initialisation; unused parts are never touched.
class PointerTable {
 public:
  static constexpr std::uint64_t kMin = std::uint64_t{16} << 10;

  // Returns false if the block could not be stored. `before` becomes the earlier block at this
  // address, if any: its free was missed, and it is no longer held.
  bool insert(const void* pointer, HeldBlock block, HeldBlock& before) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    const std::size_t line = line_of(key);
    for (Entry& entry : lines_[line].entries) {
      std::uintptr_t there = entry.pointer.load(std::memory_order_relaxed);
      const bool ours = there == key || (there == 0 && entry.pointer.compare_exchange_strong(
                                                           there, key, std::memory_order_acquire));
      if (!ours) continue;
      if (there == 0) held_by_line_[line].fetch_add(1, std::memory_order_relaxed);
      before = unpack(entry.block.load(std::memory_order_relaxed));
      entry.block.store(pack(block), std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  // False: no block is stored at this address. (The thread that frees a block knows its address
  // from the one that inserted it.)
  [[nodiscard]] bool may_hold(const void* pointer) const {
    const std::size_t line = line_of(reinterpret_cast<std::uintptr_t>(pointer));
    return held_by_line_[line].load(std::memory_order_relaxed) != 0;
  }

  // Returns the freed block; an empty one for an address that is not stored.
  HeldBlock erase(const void* pointer) {
    if (!may_hold(pointer)) return {};
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    const std::size_t line = line_of(key);
    for (Entry& entry : lines_[line].entries) {
      if (entry.pointer.load(std::memory_order_relaxed) != key) continue;
      const HeldBlock block = unpack(entry.block.load(std::memory_order_relaxed));
      entry.block.store(0, std::memory_order_relaxed);
      entry.pointer.store(0, std::memory_order_release);
      held_by_line_[line].fetch_sub(1, std::memory_order_relaxed);
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

  // The higher bits separate addresses that are 2 GiB apart.
  static std::size_t line_of(std::uintptr_t key) { return ((key >> 14) ^ (key >> 31)) % kLines; }

  Line lines_[kLines];
  std::atomic<std::uint8_t> held_by_line_[kLines];
};

}  // namespace stepscope
