#include "profiler/stacks/process_memory.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstring>

namespace stepscope {

bool ProcessMemory::read(std::uint64_t address, void* to, std::size_t size) const noexcept {
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 62;  // file offsets are signed
  if (!file_ || address == 0 || address > kHighest) return false;
  return pread(file_.get(), to, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

bool MemoryWindow::read(std::uint64_t address, void* to, std::size_t size) noexcept {
  // The address may be any number, so adding to it could overflow.
  const auto has = [&] {
    return address >= begin_ && size <= size_ && address - begin_ <= size_ - size;
  };
  if (!has() && size <= kBytes && address > kBytes) {
    begin_ = address + size - kBytes;
    size_ = memory_.read(begin_, bytes_.data(), kBytes) ? kBytes : 0;
  }
  if (!has()) return memory_.read(address, to, size);
  std::memcpy(to, bytes_.data() + (address - begin_), size);
  return true;
}

}  // namespace stepscope
