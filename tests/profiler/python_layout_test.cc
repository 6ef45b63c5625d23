// Where the parts of an interpreter lie: what a CPython from 3.13 on says of itself, what is
// refused of it, and the versions whose layout is known.
#include "profiler/stacks/python_layout.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>

namespace stepscope {
namespace {

constexpr std::uint64_t kCookie =
    std::bit_cast<std::uint64_t>(std::array<char, 8>{'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'});
constexpr std::size_t kFreeThreaded = 2;

using Words = std::array<std::uint64_t, kPythonDescriptionBytes / 8>;

// The first words at _PyRuntime of CPython 3.13.0, x86-64.
constexpr Words kPython313 = {
    kCookie, 0x30d00f0, 0,    // of the description
    283320,  608,       632,  // runtime
    194968,  7272,      7264, 7344, 7400, 7656, 7640, 7648, 16,  7752,
    0,       7768,      7760,                                          // interpreter
    304,     0,         8,    16,   72,   152,  160,  232,  32,        // thread
    80,      8,         0,    56,   72,   70,                          // frame
    208,     112,       120,  128,  136,  68,   52,   96,   104, 200,  // code
    16,      8,                                                        // object
    416,     24,        88,   168,                                     // type
    32,      24,        16,                                            // tuple
    40,      24,        16,                                            // list
    48,      32,        40,                                            // dict
    24,      16,                                                       // float
    32,      16,        24,                                            // long
    40,      16,        32,                                            // bytes
    64,      32,        16,   40,                                      // str
    240,     200,                                                      // gc
};
constexpr std::size_t kRuntime = 3, kInterpreter = 6, kThread = 19, kFrame = 28, kCode = 34,
                      kBytes = 64, kText = 67;

std::span<const std::byte> bytes_of(const Words& words) { return std::as_bytes(std::span(words)); }

std::optional<PythonLayout> layout_of(const Words& words) {
  return described_python_layout(bytes_of(words));
}

// With another value at one place.
Words changed(std::size_t place, std::uint64_t value) {
  Words words = kPython313;
  words[place] = value;
  return words;
}

TEST(PythonLayout, IsWhatPython3130SaysOfItself) {
  const auto version = described_python_version(bytes_of(kPython313));
  ASSERT_TRUE(version);
  EXPECT_EQ(version->major, 3);
  EXPECT_EQ(version->minor, 13);
  const auto layout = layout_of(kPython313);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->runtime_interpreters, 632U);
  EXPECT_EQ(layout->interpreter_next, 7264U);
  EXPECT_EQ(layout->interpreter_threads, 7344U);
  EXPECT_EQ(layout->thread_next, 8U);
  EXPECT_EQ(layout->thread_frame, 72U);
  EXPECT_EQ(layout->thread_tid, 160U);
  EXPECT_EQ(layout->cframe_frame, PythonLayout::kNone);
  EXPECT_EQ(layout->frame_bytes, 80U);
  EXPECT_EQ(layout->frame_previous, 8U);
  EXPECT_EQ(layout->frame_code, 0U);
  EXPECT_EQ(layout->frame_instruction, 56U);
  EXPECT_EQ(layout->frame_owner, 70U);
  EXPECT_EQ(layout->code_filename, 112U);
  EXPECT_EQ(layout->code_name, 128U);
  EXPECT_EQ(layout->code_line_table, 136U);
  EXPECT_EQ(layout->code_first_line, 68U);
  EXPECT_EQ(layout->code_instructions, 200U);
  EXPECT_EQ(layout->bytes_size, 16U);
  EXPECT_EQ(layout->bytes_text, 32U);
  EXPECT_EQ(layout->text_state, 32U);
  EXPECT_EQ(layout->text_length, 16U);
  EXPECT_EQ(layout->ascii_bytes, 40U);
  EXPECT_EQ(layout->text_bytes, 56U);
}

// The first words at _PyRuntime of Debian's CPython 3.14.8, x86-64.
constexpr Words kPython314 = {
    kCookie, 0x30e08f0, 0,    // of the description
    316616,  784,       808,  // runtime
    225864,  7280,      7272, 7344, 7360, 7408, 7688, 7672, 7680, 16,  7784,
    0,       7800,      7792, 7992, 0,                                     // interpreter
    832,     0,         8,    16,   72,   152,  160,  232,  32,            // thread
    88,      8,         0,    56,   80,   74,   64,   0,                   // frame
    216,     112,       120,  128,  136,  68,   52,   96,   104,  208, 0,  // code
    16,      8,                                                            // object
    416,     24,        88,   168,                                         // type
    40,      32,        16,                                                // tuple
    40,      24,        16,                                                // list
    200,     24,        40,   32,                                          // set
    48,      32,        40,                                                // dict
    24,      16,                                                           // float
    32,      16,        24,                                                // long
    40,      16,        32,                                                // bytes
    64,      32,        16,   40,                                          // str
};

// … and of its CPython 3.15.0.
constexpr Words kPython315 = {
    kCookie, 0x30f00f0, 0,    // of the description
    346568,  912,       936,  // runtime
    226240,  7272,      7264, 7336, 7352, 7400, 7592, 7576, 7584, 16,  7736,
    0,       7752,      7744, 7944, 0,  // interpreter
    888,     0,         8,    16,   72,   80,   88,   96,   176,  184, 256,
    32,      36,        40,   136,  288,                                   // thread
    0,                                                                     // exception
    88,      8,         0,    56,   80,   74,   64,   0,                   // frame
    216,     112,       120,  128,  136,  68,   52,   96,   104,  208, 0,  // code
    16,      8,                                                            // object
    424,     24,        88,   168,  32,   288,                             // type
    944,     888,                                                          // heap type
    40,      32,        16,                                                // tuple
    40,      24,        16,                                                // list
    200,     24,        40,   32,                                          // set
    48,      32,        40,                                                // dict
    24,      16,                                                           // float
    32,      16,        24,                                                // long
    40,      16,        32,                                                // bytes
    64,      32,        16,   40,   56,                                    // str
};

TEST(PythonLayout, OfLaterVersionsLiesAtOtherPlaces) {
  struct Expected {
    const Words& words;
    int minor;
    std::uint32_t interpreters, next_interpreter, threads, tid;
  };
  for (const Expected& expected : {Expected{kPython314, 14, 808, 7272, 7344, 160},
                                   Expected{kPython315, 15, 936, 7264, 7336, 184}}) {
    SCOPED_TRACE(expected.minor);
    const auto version = described_python_version(bytes_of(expected.words));
    ASSERT_TRUE(version);
    EXPECT_EQ(version->minor, expected.minor);
    const auto layout = layout_of(expected.words);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->runtime_interpreters, expected.interpreters);
    EXPECT_EQ(layout->interpreter_next, expected.next_interpreter);
    EXPECT_EQ(layout->interpreter_threads, expected.threads);
    EXPECT_EQ(layout->thread_next, 8U);
    EXPECT_EQ(layout->thread_frame, 72U);
    EXPECT_EQ(layout->thread_tid, expected.tid);
    EXPECT_EQ(layout->frame_bytes, 88U);
    EXPECT_EQ(layout->frame_previous, 8U);
    EXPECT_EQ(layout->frame_code, 0U);
    EXPECT_EQ(layout->frame_instruction, 56U);
    EXPECT_EQ(layout->frame_owner, 74U);
    EXPECT_EQ(layout->code_filename, 112U);
    EXPECT_EQ(layout->code_name, 128U);
    EXPECT_EQ(layout->code_line_table, 136U);
    EXPECT_EQ(layout->code_first_line, 68U);
    EXPECT_EQ(layout->code_instructions, 208U);
    EXPECT_EQ(layout->bytes_size, 16U);
    EXPECT_EQ(layout->bytes_text, 32U);
    EXPECT_EQ(layout->text_state, 32U);
    EXPECT_EQ(layout->text_length, 16U);
    EXPECT_EQ(layout->ascii_bytes, 40U);
    EXPECT_EQ(layout->text_bytes, 56U);
    Words of_313 = expected.words;
    of_313[1] = 0x30d00f0;
    EXPECT_FALSE(layout_of(of_313)) << "these are not the places of 3.13";
  }
}

TEST(PythonLayout, WhatIsNoDescriptionOfAKnownVersionIsRefused) {
  EXPECT_FALSE(layout_of(changed(0, kCookie + 1)));
  EXPECT_FALSE(described_python_version(bytes_of(changed(0, 0))));
  EXPECT_FALSE(layout_of(changed(1, 0x30c00f0))) << "3.12";
  EXPECT_FALSE(layout_of(changed(1, 0x31000f0))) << "3.16";
  EXPECT_FALSE(layout_of(changed(1, 0x40d00f0))) << "4.13";
  EXPECT_FALSE(layout_of(changed(kFreeThreaded, 1)));
  EXPECT_TRUE(describes_free_threading(bytes_of(changed(kFreeThreaded, 1))));
  EXPECT_FALSE(describes_free_threading(bytes_of(changed(kFreeThreaded, 0))));
  EXPECT_FALSE(describes_free_threading(bytes_of(changed(0, 0)))) << "no description";
}

// Each word that is used: an offset must lie within its structure, whatever is added to it.
TEST(PythonLayout, AnOffsetBeyondItsStructureIsRefused) {
  const std::size_t kOffsets[] = {kRuntime + 2, kInterpreter + 2, kInterpreter + 3, kThread + 2,
                                  kThread + 4,  kThread + 6,      kFrame + 1,       kFrame + 2,
                                  kFrame + 3,   kFrame + 5,       kCode + 1,        kCode + 3,
                                  kCode + 4,    kCode + 5,        kCode + 9,        kBytes + 1,
                                  kBytes + 2,   kText + 1,        kText + 2,        kText + 3};
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t place : kOffsets) {
    for (const std::uint64_t offset :
         {std::uint64_t{300'000}, std::uint64_t{1} << 32, kLast - 7, kLast - 3, kLast})
      EXPECT_FALSE(layout_of(changed(place, offset))) << place << ": " << offset;
  }
  for (const std::size_t group : {kRuntime, kInterpreter, kThread, kFrame, kCode, kBytes, kText}) {
    EXPECT_FALSE(layout_of(changed(group, 0))) << group;
    EXPECT_FALSE(layout_of(changed(group, std::uint64_t{1} << 40))) << group;
  }
}

TEST(PythonLayout, OfATornDescriptionAllOffsetsLieWithin) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20'000; ++round) {
    Words words = kPython313;
    for (int i = 0; i < 3; ++i) words[3 + random() % 70] = random() >> (random() % 64);
    const auto layout = layout_of(words);
    if (!layout) continue;
    EXPECT_LE(layout->frame_bytes, 256U);
    EXPECT_LT(layout->frame_owner, layout->frame_bytes);
    for (const std::uint32_t offset : {layout->thread_tid, layout->code_first_line,
                                       layout->text_bytes, layout->interpreter_threads})
      EXPECT_LE(offset, (1U << 22) + 16);
  }
  const auto all = bytes_of(kPython313);
  for (std::size_t size = 0; size <= kText * 8; ++size)
    EXPECT_FALSE(described_python_layout(all.first(size))) << "cut off after " << size;
}

TEST(PythonLayout, IsFixedOnlyForVersionsThatDoNotDescribeThemselves) {
  for (const int minor : {10, 11, 12}) EXPECT_TRUE(fixed_python_layout({3, minor}));
  for (const int minor : {9, 13, 14, 15}) EXPECT_FALSE(fixed_python_layout({3, minor}));
  EXPECT_FALSE(fixed_python_layout({2, 11}));
}

}  // namespace
}  // namespace stepscope
