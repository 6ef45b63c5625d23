// Native stacks become samples: one for each moment that a stretch was chosen for.
#include "profiler/recorder/native_stacks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <vector>

#include "profiler/ring/ring_format.h"
#include "profiler/ring/stack_walk.h"

namespace stepscope {
namespace {

NativeStack stack_of(std::int64_t ms, Duration period) {
  std::array<std::uint64_t, kMaxStackFrames> addresses{};
  const std::uint32_t count = walk_stack(addresses);
  NativeStack stack;
  stack.start = SessionTime{Duration{1'000'000}};
  stack.due = SessionTime{Duration{2'000'000}};
  stack.end = SessionTime{Duration{ms * 1'000'000}};
  stack.period = period;
  stack.at_end.assign(addresses.begin(), addresses.begin() + count);
  return stack;
}

class NativeStacksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ModuleSymbols::are_supported()) GTEST_SKIP() << "built without libdw, or it is missing";
    stacks_.add(getpid(), OwnedFd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)));
  }
  NativeStacks stacks_;
};

TEST_F(NativeStacksTest, AStretchCountsOncePerPeriod) {
  stacks_.take(getpid(), 7, {stack_of(50, Duration{kStackPeriodNs})});
  stacks_.name_all_held();
  EXPECT_EQ(stacks_.found().samples.size(), 3U);  // at 2, 22 and 42 ms
  stacks_.take(getpid(), 7, {stack_of(50, Duration{kStackPeriodNs / kStackRateInSomeSteps})});
  stacks_.name_all_held();
  EXPECT_EQ(stacks_.found().samples.size(), 25U);
  EXPECT_EQ(stacks_.samples(), 28);
  EXPECT_FALSE(stacks_.lost());
}

// Symbols are not read while a short program runs.
TEST_F(NativeStacksTest, FirstStacksWaitForTheEndOfTheirProcess) {
  stacks_.take(getpid(), 7, {stack_of(50, Duration{kStackPeriodNs})});
  EXPECT_TRUE(stacks_.found().frames.empty());
  stacks_.name_held(getpid() + 1);
  EXPECT_TRUE(stacks_.found().samples.empty());
  stacks_.name_held(getpid());
  EXPECT_EQ(stacks_.found().samples.size(), 3U);
  stacks_.name_all_held();
  EXPECT_TRUE(stacks_.found().samples.empty()) << "each once";
}

TEST_F(NativeStacksTest, ManyStacksDoNotWait) {
  const std::vector<NativeStack> stacks(NativeStacks::kMaxHeld,
                                        stack_of(3, Duration{kStackPeriodNs}));
  stacks_.take(getpid(), 7, stacks);
  EXPECT_EQ(stacks_.found().samples.size(), NativeStacks::kMaxHeld);
}

TEST_F(NativeStacksTest, AnotherProcessIsIgnored) {
  stacks_.take(getpid() + 1, 7, {stack_of(50, Duration{kStackPeriodNs})});
  stacks_.name_all_held();
  EXPECT_TRUE(stacks_.found().samples.empty());
}

}  // namespace
}  // namespace stepscope
