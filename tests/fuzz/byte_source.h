// The bytes of a fuzzer as a source of choices. When they have run out, every choice is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stepscope::fuzz {

class ByteSource {
 public:
  explicit ByteSource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return at_ >= bytes_.size(); }
  std::uint8_t byte() { return empty() ? 0 : bytes_[at_++]; }
  // 0 … below - 1.
  std::uint32_t pick(std::uint32_t below) { return byte() % below; }
  bool chance(std::uint32_t one_in) { return pick(one_in) == 0; }
  std::uint64_t bits(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace stepscope::fuzz
