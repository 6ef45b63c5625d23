// The program counter of a running thread, read from outside.
#include "profiler/stacks/program_counter.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

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

TEST(ProgramCounter, IsThatOfTheThreadWhileItRuns) {
  std::atomic<bool> stop = false;
  std::atomic<pid_t> tid = 0;
  std::thread busy([&] {
    tid = gettid();
    spin(stop);
  });
  while (tid == 0) std::this_thread::yield();
  ProgramCounter counter;
  EXPECT_FALSE(counter.is_open());
  EXPECT_FALSE(counter.latest());
  const int error = counter.open(tid);
  bool found = false;
  // The ring is overwritten many times meanwhile.
  for (int i = 0; i < 2000 && error == 0; ++i) {
    std::this_thread::sleep_for(1ms);
    const auto address = counter.latest();
    if (address) {
      found = true;
      EXPECT_TRUE(is_ours(*address)) << std::hex << *address;
      if (i > 500) break;
    }
  }
  stop = true;
  busy.join();
  if (error != 0) GTEST_SKIP() << "perf_event_open: " << std::strerror(error);
  EXPECT_TRUE(found);
  std::this_thread::sleep_for(2 * ProgramCounter::kLongestAgo);
  EXPECT_FALSE(counter.latest()) << "it has not run for long";
}

TEST(ProgramCounter, SaysWhyThereIsNone) {
  ProgramCounter counter;
  EXPECT_NE(counter.open(-7), 0);
  EXPECT_FALSE(counter.is_open());
}

}  // namespace
}  // namespace stepscope
