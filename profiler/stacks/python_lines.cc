#include "profiler/stacks/python_lines.h"

namespace stepscope {
namespace {

constexpr std::int64_t kInstructionBytes = 2;

// Reads the numbers of a location table, which have six bits per byte, lowest bits first.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return place_ >= bytes_.size(); }
  unsigned next_byte() { return at_end() ? 0 : std::to_integer<unsigned>(bytes_[place_++]); }
  void skip(std::size_t bytes) { place_ += bytes; }
  unsigned next() {
    unsigned value = 0;
    for (unsigned shift = 0; shift < 32; shift += 6) {
      const unsigned byte = next_byte();
      value |= (byte & 63U) << shift;
      if ((byte & 64U) == 0) break;
    }
    return value;
  }
  int next_signed() {
    const unsigned value = next();
    const auto size = static_cast<int>(value >> 1);
    return (value & 1U) != 0 ? -size : size;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t place_ = 0;
};

// The kinds of an entry, in bits 3 to 6 of its first byte. Kinds below kOneLine0 are short entries,
// on the same line.
enum : unsigned { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNoLocation = 15 };

// The line of the entry minus that of the entry before.
int line_delta(unsigned kind, Numbers& table) {
  if (kind == kNoLocation) return 0;
  if (kind == kLong) {
    const int delta = table.next_signed();
    for (int rest = 0; rest < 3; ++rest) table.next();  // the end line, both columns
    return delta;
  }
  if (kind == kNoColumns) return table.next_signed();
  if (kind >= kOneLine0 && kind <= kOneLine2) {
    table.skip(2);
    return static_cast<int>(kind - kOneLine0);
  }
  table.skip(1);
  return 0;
}

}  // namespace

std::optional<int> python_line(std::span<const std::byte> table, int first_line,
                               std::int64_t offset) {
  if (offset < 0) return first_line;  // the function was called but has not begun
  Numbers numbers(table);
  std::int64_t end = 0;
  std::int64_t line = first_line;
  while (!numbers.at_end()) {
    const unsigned head = numbers.next_byte();
    const unsigned kind = (head >> 3) & 15U;
    line += line_delta(kind, numbers);
    end += (static_cast<std::int64_t>(head & 7U) + 1) * kInstructionBytes;
    if (offset >= end) continue;
    if (kind == kNoLocation || line < 0 || line > 0x7fffffff) return std::nullopt;
    return static_cast<int>(line);
  }
  return std::nullopt;
}

std::optional<int> python_line_310(std::span<const std::byte> table, int first_line,
                                   std::int64_t offset) {
  constexpr int kNoLine = -128;
  if (offset < 0) return first_line;
  std::int64_t end = 0;
  std::int64_t line = first_line;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += std::to_integer<int>(table[i]);
    const auto delta = static_cast<std::int8_t>(std::to_integer<int>(table[i + 1]));
    if (delta != kNoLine) line += delta;
    if (offset >= end) continue;
    if (delta == kNoLine || line < 0 || line > 0x7fffffff) return std::nullopt;
    return static_cast<int>(line);
  }
  return std::nullopt;
}

}  // namespace stepscope
