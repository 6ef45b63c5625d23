#include "profiler/stacks/process_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

// A file whose bytes say where they are stands for the memory.
class ProcessMemoryTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 20'000;

  ProcessMemoryTest() {
    std::string bytes(kBytes, '\0');
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = byte_at(i);
    std::ofstream(dir_ / "memory", std::ios::binary) << bytes;
  }
  static char byte_at(std::size_t place) { return static_cast<char>(place * 7 + place / 256); }

  testing::TempDir dir_;
};

TEST_F(ProcessMemoryTest, AllThatIsAskedForIsReadOrNothing) {
  const ProcessMemory memory(OwnedFd(open((dir_ / "memory").c_str(), O_RDONLY)));
  std::array<char, 4> bytes{};
  ASSERT_TRUE(memory.read(100, bytes.data(), 4));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(bytes[i], byte_at(100 + i));
  EXPECT_TRUE(memory.read(kBytes - 4, bytes.data(), 4));
  EXPECT_FALSE(memory.read(kBytes - 3, bytes.data(), 4)) << "one byte is missing";
  EXPECT_FALSE(memory.read(0, bytes.data(), 4)) << "a null pointer";
  EXPECT_FALSE(memory.read(std::numeric_limits<std::uint64_t>::max(), bytes.data(), 4));
  EXPECT_FALSE(ProcessMemory(OwnedFd()).read(100, bytes.data(), 4)) << "no file";
}

TEST_F(ProcessMemoryTest, AWindowSaysWhatTheMemoryHolds) {
  const ProcessMemory memory(OwnedFd(open((dir_ / "memory").c_str(), O_RDONLY)));
  MemoryWindow window(memory);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 16 == 0) window.forget();
    const std::size_t size = random() % 256 + 1;
    const std::size_t place = random() % (kBytes + 1000);
    std::array<char, 256> bytes{};
    ASSERT_EQ(window.read(place, bytes.data(), size), place > 0 && place + size <= kBytes) << place;
    if (place == 0 || place + size > kBytes) continue;
    for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(bytes[at], byte_at(place + at)) << place;
  }
}

// A torn frame may lead to any address.
TEST_F(ProcessMemoryTest, AWindowDoesNotReachAroundTheLastAddress) {
  const ProcessMemory memory(OwnedFd(open((dir_ / "memory").c_str(), O_RDONLY)));
  MemoryWindow window(memory);
  std::array<char, 80> bytes{};
  ASSERT_TRUE(window.read(9000, bytes.data(), bytes.size()));
  for (std::uint64_t below = 1; below <= 200; ++below)
    EXPECT_FALSE(window.read(std::uint64_t{0} - below, bytes.data(), bytes.size())) << below;
  EXPECT_TRUE(window.read(9000, bytes.data(), bytes.size()));
}

}  // namespace
}  // namespace stepscope
