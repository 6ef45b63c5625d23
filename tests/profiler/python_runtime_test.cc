// Which CPython a process runs, and where its parts lie.
#include "profiler/stacks/python_runtime.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

TEST(PythonFiles, AreThoseThatMayHoldAnInterpreter) {
  const auto files = python_files(
      "55d0c0000000-55d0c0001000 r--p 00000000 08:01 11   /usr/bin/python3.11\n"
      "55d0c0001000-55d0c0002000 r-xp 00001000 08:01 11   /usr/bin/python3.11\n"
      "7f0000000000-7f0000001000 r--p 00000000 08:01 12   /opt/my envs/lib/libpython3.12.so.1.0\n"
      "7f1000000000-7f1000001000 r--p 00000000 08:01 13   /usr/lib/libc.so.6\n"
      "7f2000000000-7f2000001000 rw-p 00000000 00:00 0    [heap]\n"
      "nonsense\n"
      "7f3000000000-7f3000001000 r--p 00000000 08:01 14   /home/x/python/data.bin");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "/usr/bin/python3.11");
  EXPECT_EQ(files[0].begin, 0x55d0c0000000U);
  EXPECT_EQ(files[1].path, "/opt/my envs/lib/libpython3.12.so.1.0");
}

TEST(PythonVersionOf, IsInTheNameOfItsFile) {
  const auto version = python_version_of("/usr/lib/libpython3.11.so.1.0");
  ASSERT_TRUE(version);
  EXPECT_EQ(version->major, 3);
  EXPECT_EQ(version->minor, 11);
  EXPECT_EQ(python_version_of("/usr/bin/python3.10")->minor, 10);
  EXPECT_EQ(python_version_of("/usr/bin/python3"), std::nullopt);
  EXPECT_EQ(python_version_of("/usr/bin/perl"), std::nullopt);
}

TEST(PythonSectionOf, IsNothingOfWhatIsNoInterpreter) {
  const testing::TempDir dir;
  EXPECT_EQ(python_section_of(dir / "missing"), std::nullopt);
  std::ofstream(dir / "text") << "#!/bin/sh\n";
  EXPECT_EQ(python_section_of(dir / "text"), std::nullopt);
  std::ofstream(dir / "short", std::ios::binary) << std::string("\177ELF\2\1\1", 7);
  EXPECT_EQ(python_section_of(dir / "short"), std::nullopt);
  EXPECT_EQ(python_section_of("/proc/self/exe"), std::nullopt) << "this test is no interpreter";
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(python_section_of(dir / "pipe"), std::nullopt) << "and nobody waits for it";
}

// A description of 3.13 as its words lie: see the places in python_layout.cc.
std::vector<std::uint64_t> description_313() {
  std::vector<std::uint64_t> words(128, 0);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = 0x030d00f0;
  const auto group = [&](std::size_t at, std::vector<std::uint64_t> values) {
    for (std::size_t i = 0; i < values.size(); ++i) words[at + i] = values[i];
  };
  group(3, {20000, 8, 632});
  group(6, {200000, 0, 7264, 7344});
  group(19, {320, 0, 8, 16, 72, 152, 160});
  group(28, {80, 8, 0, 56, 72, 70});
  group(34, {208, 112, 120, 128, 136, 68, 0, 0, 0, 200});
  group(64, {40, 16, 32});
  group(67, {64, 32, 16, 40});
  return words;
}

std::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  return std::as_bytes(std::span(words));
}

TEST(PythonLayout, IsWhatTheInterpreterSaysOfItself) {
  const auto words = description_313();
  EXPECT_EQ(described_python_version(bytes_of(words))->minor, 13);
  const auto layout = described_python_layout(bytes_of(words));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->runtime_interpreters, 632U);
  EXPECT_EQ(layout->interpreter_threads, 7344U);
  EXPECT_EQ(layout->thread_tid, 160U);
  EXPECT_EQ(layout->thread_frame, 72U);
  EXPECT_EQ(layout->frame_instruction, 56U);
  EXPECT_EQ(layout->frame_owner, 70U);
  EXPECT_EQ(layout->code_instructions, 200U);
  EXPECT_EQ(layout->ascii_bytes, 40U);
  EXPECT_EQ(layout->text_bytes, 56U);
}

TEST(PythonLayout, ADescriptionThatMakesNoSenseIsRefused) {
  auto words = description_313();
  words[0] = 0;
  EXPECT_EQ(described_python_version(bytes_of(words)), std::nullopt) << "no cookie";
  words = description_313();
  words[2] = 1;
  EXPECT_EQ(described_python_layout(bytes_of(words)), std::nullopt) << "free-threaded";
  words = description_313();
  words[1] = 0x031500f0;
  EXPECT_EQ(described_python_layout(bytes_of(words)), std::nullopt) << "of a later version";
  words = description_313();
  words[34 + 4] = 300;
  EXPECT_EQ(described_python_layout(bytes_of(words)), std::nullopt) << "beyond its structure";
  words = description_313();
  words[6] = std::uint64_t{1} << 60;
  EXPECT_EQ(described_python_layout(bytes_of(words)), std::nullopt) << "a structure of an exabyte";
  EXPECT_EQ(described_python_layout({}), std::nullopt);
}

TEST(PythonLayout, IsFixedOnlyForVersionsThatDoNotDescribeThemselves) {
  for (const int minor : {10, 11, 12}) EXPECT_TRUE(fixed_python_layout({3, minor}));
  for (const int minor : {9, 13, 14}) EXPECT_FALSE(fixed_python_layout({3, minor}));
  EXPECT_FALSE(fixed_python_layout({2, 11}));
}

}  // namespace
}  // namespace stepscope
