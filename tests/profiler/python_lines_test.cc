// The tables that CPython itself made of this function, and what its co_lines() says of each
// instruction:
//
//   1 def f(a):
//   2     x = [
//   3         i
//   4         for i in a
//   5     ]
//   6
//   7     if x:
//   8         return max(
//   9             x, key=lambda v:
//  10                 -v)
//  11     while a: pass
#include "profiler/stacks/python_lines.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace stepscope {
namespace {

constexpr std::uint8_t kTable311[] = {
    0x80, 0x00, 0xf0, 0x02, 0x03, 0x09, 0x06, 0xf0, 0x00, 0x03, 0x09, 0x06, 0xe0, 0x11,
    0x12, 0xf0, 0x05, 0x03, 0x09, 0x06, 0xf1, 0x00, 0x03, 0x09, 0x06, 0xf4, 0x00, 0x03,
    0x09, 0x06, 0x80, 0x41, 0xf0, 0x0a, 0x00, 0x08, 0x09, 0xf0, 0x00, 0x03, 0x05, 0x14,
    0xdd, 0x0f, 0x12, 0xd8, 0x0c, 0x0d, 0xf0, 0x00, 0x01, 0x14, 0x13, 0xf0, 0x00, 0x01,
    0x14, 0x13, 0xf0, 0x03, 0x02, 0x10, 0x14, 0xf1, 0x00, 0x02, 0x10, 0x14, 0xf4, 0x00,
    0x02, 0x10, 0x14, 0xf0, 0x00, 0x02, 0x09, 0x14, 0xf0, 0x06, 0x00, 0x0b, 0x0c, 0x80,
    0x4d, 0x88, 0x21, 0x80, 0x4d, 0x80, 0x4d, 0x80, 0x4d, 0x80, 0x4d, 0x80, 0x4d};
constexpr int kLines311[] = {1, 2, 2, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2,  7,  7,  8,  8,  8,  8,  8, 8,
                             9, 9, 9, 8, 8, 8, 8, 8, 8, 8, 8, 8, 11, 11, 11, 11, 11, 11, 11, 11};
constexpr std::uint8_t kTable310[] = {0x06, 0x01, 0x02, 0x02, 0x06, 0xfe, 0x04, 0x05,
                                      0x02, 0x01, 0x08, 0x01, 0x06, 0xff, 0x10, 0x03};
constexpr int kLines310[] = {2, 2, 2, 4, 2,  2,  2,  7,  7,  8,  9,  9, 9,
                             9, 8, 8, 8, 11, 11, 11, 11, 11, 11, 11, 11};

std::span<const std::byte> bytes_of(std::span<const std::uint8_t> table) {
  return std::as_bytes(table);
}

TEST(PythonLines, EachInstructionHasTheLineThatCPythonSays) {
  for (std::size_t i = 0; i < std::size(kLines311); ++i) {
    EXPECT_EQ(python_line(bytes_of(kTable311), 1, static_cast<std::int64_t>(2 * i)), kLines311[i])
        << "instruction " << i;
  }
}

TEST(PythonLines, TheTablesOfPython310HaveAnotherFormat) {
  for (std::size_t i = 0; i < std::size(kLines310); ++i) {
    EXPECT_EQ(python_line_310(bytes_of(kTable310), 1, static_cast<std::int64_t>(2 * i)),
              kLines310[i])
        << "instruction " << i;
  }
}

TEST(PythonLines, AFunctionThatHasNotBegunIsAtItsFirstLine) {
  EXPECT_EQ(python_line(bytes_of(kTable311), 41, -2), 41);
  EXPECT_EQ(python_line_310(bytes_of(kTable310), 41, -2), 41);
}

TEST(PythonLines, BeyondItsTableAnInstructionHasNoLine) {
  EXPECT_EQ(python_line(bytes_of(kTable311), 1, 2 * std::size(kLines311)), std::nullopt);
  EXPECT_EQ(python_line(bytes_of(kTable311), 1, INT64_MAX), std::nullopt);
  EXPECT_EQ(python_line_310(bytes_of(kTable310), 1, 2 * std::size(kLines310)), std::nullopt);
  EXPECT_EQ(python_line({}, 1, 0), std::nullopt);
  EXPECT_EQ(python_line_310({}, 1, 0), std::nullopt);
}

TEST(PythonLines, AnInstructionMayHaveNoLine) {
  const std::uint8_t none[] = {0xf8};  // kind 15, one instruction
  EXPECT_EQ(python_line(bytes_of(none), 7, 0), std::nullopt);
  const std::uint8_t none_310[] = {0x02, 0x80};
  EXPECT_EQ(python_line_310(bytes_of(none_310), 7, 0), std::nullopt);
}

// A table that was torn while it was read may hold anything.
TEST(PythonLines, AnyBytesGiveALineOrNone) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::uint8_t> table(random() % 40);
    for (std::uint8_t& byte : table) byte = static_cast<std::uint8_t>(random());
    const auto offset = static_cast<std::int64_t>(random() % 200);
    for (const auto& line :
         {python_line(bytes_of(table), 1, offset), python_line_310(bytes_of(table), 1, offset)}) {
      if (line) EXPECT_GE(*line, 0);
    }
  }
}

}  // namespace
}  // namespace stepscope
