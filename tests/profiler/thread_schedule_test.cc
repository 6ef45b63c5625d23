#include "profiler/ring/thread_schedule.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/profiler/test_ring.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// A stand-in for a thread's schedstat.
class ThreadScheduleTest : public testing::Test {
 protected:
  ThreadScheduleTest() { starved(5 * kMs); }
  ~ThreadScheduleTest() override { std::filesystem::remove(path_); }

  void starved(std::int64_t ns) { std::ofstream(path_) << "1000 " << ns << " 3\n"; }
  // A mark after `wall_ns` in which the thread ran for `cpu_ns`. Ticks are nanoseconds here.
  auto after(std::int64_t wall_ns, std::int64_t cpu_ns, bool has_room = true) {
    wall_ns_ += wall_ns;
    cpu_ns_ += cpu_ns;
    return schedule_.mark(Ticks{static_cast<std::uint64_t>(wall_ns_)}, wall_ns_, cpu_ns_, has_room);
  }
  // The first reading has nothing to be compared with.
  void begin() {
    EXPECT_FALSE(after(0, 0));
    EXPECT_FALSE(after(kMs, 0));
  }

  const std::string path_ = testing::TempDir() + "/schedstat-" + std::to_string(getpid());
  ThreadSchedule schedule_{path_.c_str()};
  std::int64_t wall_ns_ = 77 * kMs;
  std::int64_t cpu_ns_ = 3 * kMs;
};

TEST_F(ThreadScheduleTest, TellsStarvedFromBlockedBetweenTwoMarks) {
  begin();
  starved(9 * kMs);
  const auto stretch = after(10 * kMs, 1 * kMs);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(to_count(stretch->end) - to_count(stretch->start), 10 * kMs);
  EXPECT_EQ(stretch->run_ns, 1 * kMs);
  EXPECT_EQ(stretch->starved_ns, 4 * kMs);
  const auto blocked = after(10 * kMs, 1 * kMs);
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->starved_ns, 0);
}

TEST_F(ThreadScheduleTest, ReadsNothingWhileTheThreadRuns) {
  begin();
  std::filesystem::remove(path_);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(after(kMs, kMs - 5'000));
}

TEST_F(ThreadScheduleTest, ShortWaitsAddUp) {
  begin();
  starved(5 * kMs + 120'000);
  EXPECT_FALSE(after(kMs, kMs - 60'000));
  const auto stretch = after(kMs, kMs - 60'000);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->starved_ns, 120'000);
}

TEST_F(ThreadScheduleTest, AWaitAfterTheMarkBelongsToTheNextStretch) {
  begin();
  starved(11 * kMs);  // 6 ms, of which 4 came after the mark
  const auto first = after(2 * kMs, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->starved_ns, 2 * kMs);
  const auto second = after(5 * kMs, kMs);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->starved_ns, 4 * kMs);
}

TEST_F(ThreadScheduleTest, AStretchThatFindsNoRoomIsToldLater) {
  begin();
  starved(8 * kMs);
  EXPECT_FALSE(after(4 * kMs, 0, false));
  const auto stretch = after(kMs, kMs);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->starved_ns, 3 * kMs);
  EXPECT_EQ(to_count(stretch->end) - to_count(stretch->start), 5 * kMs);
}

// Marks as a caller makes them that asks first: times in ticks of the machine.
class MarksThatAsk : public ThreadScheduleTest {
 protected:
  MarksThatAsk() {
    EXPECT_FALSE(mark_after(0, 0));
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(mark_after(5 * kMs, 5 * kMs));
    readings_ = 0;
  }
  std::optional<ThreadSchedule::Stretch> mark_after(std::int64_t wall_ns, std::int64_t cpu_ns) {
    wall_ns_ += wall_ns;
    cpu_ns_ += cpu_ns;
    const Ticks now = ticks_of(wall_ns_);
    if (!schedule_.is_due(now)) return std::nullopt;
    ++readings_;
    return schedule_.mark(now, wall_ns_, cpu_ns_, true);
  }
  static Ticks ticks_of(std::int64_t ns) {
    return Ticks{static_cast<std::uint64_t>(ns) * kTicksInTenUs / 10'000};
  }

  int readings_ = 0;
};

TEST_F(MarksThatAsk, WhileTheThreadKeepsItsCoreFewReadTheClock) {
  for (int i = 0; i < 1000; ++i) mark_after(300'000, 300'000);
  EXPECT_GT(readings_, 15);
  EXPECT_LT(readings_, 25);
}

TEST_F(MarksThatAsk, TheTimeOffTheCoreIsThatOfTheOneLongStretch) {
  mark_after(5 * kMs, 5 * kMs);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(mark_after(500'000, 500'000));
  starved(5 * kMs + 9 * kMs);
  EXPECT_FALSE(mark_after(9 * kMs + 200'000, 200'000)) << "the first reading of the file";
  for (int i = 0; i < 1000; ++i) mark_after(5 * kMs, 5 * kMs);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(mark_after(500'000, 500'000));
  starved(5 * kMs + 12 * kMs);
  const Ticks before = ticks_of(wall_ns_);
  const auto stretch = mark_after(3 * kMs + 200'000, 200'000);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->start, before);
  EXPECT_EQ(stretch->end, ticks_of(wall_ns_));
  EXPECT_EQ(stretch->starved_ns, 3 * kMs);
  EXPECT_NEAR(static_cast<double>(stretch->run_ns), 200'000, 1000);
}

TEST_F(MarksThatAsk, OnceTheThreadHasLostItsCoreTheNextMarksAreFollowedClosely) {
  mark_after(5 * kMs, kMs);
  readings_ = 0;
  for (int i = 0; i < 100; ++i) mark_after(150'000, 150'000);
  EXPECT_EQ(readings_, 100);
  for (int i = 0; i < 1000; ++i) mark_after(150'000, 150'000);
  EXPECT_LT(readings_, 300);
}

TEST_F(ThreadScheduleTest, WithoutTheFileNothingIsKnown) {
  std::filesystem::remove(path_);
  begin();
  starved(9 * kMs);
  EXPECT_FALSE(after(10 * kMs, 0));
  schedule_.restart();
  begin();
  starved(10 * kMs);
  EXPECT_TRUE(after(10 * kMs, 0));
}

TEST_F(ThreadScheduleTest, AnotherTextIsNotBelieved) {
  for (const char* text : {"", "12", "12 x 3", "-4 5 6", "12 99999999999999999999 1", "1 2"})
    EXPECT_FALSE(parse_schedstat(text)) << text;
  const auto times = parse_schedstat("12 34 5\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->run_ns, 12);
  EXPECT_EQ(times->starved_ns, 34);
}

// A program that becomes a daemon closes all descriptors, and its own files get the numbers.
TEST_F(ThreadScheduleTest, ADescriptorThatTheProgramTookIsLeftAlone) {
  constexpr int kFirst = 512;  // which the program's own do not reach
  ScheduleFile file;
  ASSERT_TRUE(file.open(path_.c_str()));
  ASSERT_TRUE(file.read());
  ASSERT_NE(fcntl(kFirst, F_GETFD), -1);
  const int zero = open("/dev/zero", O_RDONLY);
  ASSERT_LT(zero, kFirst);
  ASSERT_EQ(dup2(zero, kFirst), kFirst);
  EXPECT_FALSE(file.read());
  file.close();
  EXPECT_NE(fcntl(kFirst, F_GETFD), -1) << "the program's file was closed";
  close(kFirst);
  close(zero);
}

TEST_F(ThreadScheduleTest, NumbersOfAnotherFileAreNotBelieved) {
  ScheduleFile file;
  ASSERT_TRUE(file.open(path_.c_str()));
  EXPECT_TRUE(file.read(1000)) << "what the CPU clock says";
  EXPECT_TRUE(file.read(77'000 * kMs)) << "the clock says something else, but it is our file";
  const std::string other = path_ + "-other";
  std::ofstream(other) << "60000000000 7 1\n";  // 60 s
  const int numbers = open(other.c_str(), O_RDONLY);
  ASSERT_EQ(dup2(numbers, 512), 512);
  EXPECT_FALSE(file.read(1000));
  close(512);
  close(numbers);
  std::filesystem::remove(other);
}

TEST_F(ThreadScheduleTest, ItIsFollowedThroughAClosedDescriptor) {
  begin();
  for (int fd = 3; fd < 1024; ++fd) close(fd);  // as a daemon does
  starved(9 * kMs);
  const auto stretch = after(10 * kMs, 0);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->starved_ns, 4 * kMs);
}

// The real file: a thread that sleeps is blocked, not starved, and the ring carries it.
TEST(ScheduleOfAThread, ASleepIsToldAsBlocked) {
  TestRing ring;
  TestDecoder reader(ring.header());
  for (int i = 0; i < 3; ++i) {
    const OpenPhase phase = ring.recorder().begin_phase(PhaseKind::kInput, "loader");
    usleep(20'000);
    ring.recorder().end_phase(phase);
  }
  const DecodedEvents events = reader.decode();
  ASSERT_EQ(events.phases.size(), 3u);
  if (!std::filesystem::exists("/proc/thread-self/schedstat")) GTEST_SKIP();
  ASSERT_FALSE(events.stretches.empty());
  Duration longest{};
  for (const ThreadStretch& stretch : events.stretches) {
    EXPECT_EQ(stretch.thread, ThreadId{7});
    EXPECT_LE(stretch.run + stretch.starved, stretch.dur);
    longest = std::max(longest, stretch.dur);  // between two sleeps it may lose its core, too
  }
  EXPECT_GE(longest, Duration(20 * kMs));
}

}  // namespace
}  // namespace stepscope
