// Reads the memory of another process without stopping it, through a descriptor of /proc/PID/mem
// that the process opened itself. The permission is checked when the file is opened, so none is
// needed here. Nothing can be written through it.
//
// Thread safety: none; used by one reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "profiler/channel/owned_fd.h"

namespace stepscope {

class ProcessMemory {
 public:
  // `file`: /proc/PID/mem, open for reading.
  explicit ProcessMemory(OwnedFd file) : file_(std::move(file)) {}

  // Reads all `size` bytes at `address`; false if they are not mapped, or the process has ended.
  bool read(std::uint64_t address, void* to, std::size_t size) const noexcept;
  template <typename Value>
  [[nodiscard]] std::optional<Value> read(std::uint64_t address) const noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    if (!read(address, &value, sizeof(value))) return std::nullopt;
    return value;
  }

 private:
  OwnedFd file_;
};

// Caches a piece of memory: the frames of a call chain lie next to each other, so the bytes read
// for the innermost frame also contain its callers. The content is from the moment it was read, so
// it must be discarded for each stack.
class MemoryWindow {
 public:
  explicit MemoryWindow(const ProcessMemory& memory) : memory_(memory), bytes_(kBytes) {}

  void forget() { size_ = 0; }
  // Like ProcessMemory::read().
  bool read(std::uint64_t address, void* to, std::size_t size) noexcept;

 private:
  static constexpr std::size_t kBytes = 4096;

  const ProcessMemory& memory_;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace stepscope
