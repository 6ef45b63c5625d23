// The program counter of a running thread, read from outside.
#include "profiler/stacks/program_counter.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "profiler/ring/clock.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// Never inlined, and with a place of its own in the test's code.
[[gnu::noinline]] void spin(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
  }
}

bool is_ours(std::uint64_t address) {
  Dl_info info{}, own{};
  dladdr(reinterpret_cast<const void*>(&spin), &own);
  return dladdr(reinterpret_cast<const void*>(address), &info) != 0 &&
         info.dli_fbase == own.dli_fbase;
}

// The program counter is noted every kPeriod of the thread's CPU time. If the reader falls behind
// and the ring is overwritten, the latest notes remain.
TEST(ProgramCounter, IsNotedWhileTheThreadRuns) {
  std::atomic<bool> stop = false;
  std::atomic<pid_t> tid = 0;
  std::thread busy([&] {
    tid = gettid();
    spin(stop);
  });
  while (tid == 0) std::this_thread::yield();
  ProgramCounter counter;
  EXPECT_FALSE(counter.is_open());
  std::vector<ProgramCounter::Note> notes;
  counter.take(notes);
  const std::int64_t began = read_clock_ns(CLOCK_MONOTONIC);
  const int error = counter.open(tid);
  const auto wait_for_notes = [&](std::size_t count) {
    while (error == 0 && notes.size() < count) {
      std::this_thread::sleep_for(10ms);
      counter.take(notes);
    }
  };
  wait_for_notes(10);
  const std::size_t before = notes.size();
  if (error == 0) std::this_thread::sleep_for(5s);  // the ring holds 3.4 s of notes
  wait_for_notes(before + 20);
  const std::int64_t ended = read_clock_ns(CLOCK_MONOTONIC);
  stop = true;
  busy.join();
  if (error != 0) GTEST_SKIP() << "perf_event_open: " << std::strerror(error);
  EXPECT_LE(std::ssize(notes) * ProgramCounter::kPeriod.count(), ended - began);
  std::int64_t last = began;
  for (const ProgramCounter::Note& note : notes) {
    EXPECT_TRUE(is_ours(note.counter)) << std::hex << note.counter;
    EXPECT_GT(note.monotonic_ns, last);
    last = note.monotonic_ns;
  }
  EXPECT_LT(last, ended);
  counter.take(notes);
  notes.clear();
  std::this_thread::sleep_for(3 * ProgramCounter::kPeriod);
  counter.take(notes);
  EXPECT_TRUE(notes.empty()) << "the thread has ended";
}

TEST(ProgramCounter, OpenReturnsTheError) {
  ProgramCounter counter;
  EXPECT_NE(counter.open(-7), 0);
  EXPECT_FALSE(counter.is_open());
}

}  // namespace
}  // namespace stepscope
