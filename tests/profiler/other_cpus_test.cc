// A thread that keeps off the CPUs that others compute on.
#include "profiler/recorder/other_cpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

std::vector<int> cpus_allowed() {
  cpu_set_t set{};
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set) != 0) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

// In a thread of its own, so that the test's may go on anywhere.
template <typename Body>
void in_thread(const Body& body) {
  std::thread(body).join();
}

TEST(OtherCpus, TheCpuOfAThreadIsInItsFile) {
  const std::string before = "12 (a) b) R", zeros = " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
  EXPECT_EQ(cpu_in_stat(before + zeros + zeros + " 0 7 0 0\n"), 7);
  EXPECT_EQ(cpu_in_stat(before + zeros + zeros + " 0 99999\n"), -1);
  EXPECT_EQ(cpu_in_stat(before + zeros), -1);
  EXPECT_EQ(cpu_in_stat(""), -1);
  EXPECT_EQ(last_cpu_of(getpid(), -1), -1);
}

TEST(OtherCpus, TheCpuOfAThreadIsTheOneItRunsOn) {
  for (const int cpu : cpus_allowed()) {
    in_thread([cpu] {
      cpu_set_t one{};
      CPU_SET(static_cast<std::size_t>(cpu), &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      EXPECT_EQ(last_cpu_of(getpid(), gettid()), cpu);
    });
  }
}

TEST(OtherCpus, BusyOnesAreAvoidedWhileThereIsAnother) {
  in_thread([] {
    const std::vector<int> all = cpus_allowed();
    OtherCpus cpus;
    cpus.avoid({});
    EXPECT_EQ(cpus_allowed(), all);
    for (const int busy : all) {
      cpus.avoid({busy, -1, 1'000});
      std::vector<int> others = all;
      if (all.size() > 1) std::erase(others, busy);
      EXPECT_EQ(cpus_allowed(), others) << busy;
    }
    cpus.avoid(all);
    EXPECT_EQ(cpus_allowed(), all) << "all are busy";
  });
}

TEST(OtherCpus, WhatSomebodyElseAllowedLaterHolds) {
  in_thread([] {
    const std::vector<int> all = cpus_allowed();
    OtherCpus cpus;
    cpus.avoid({all.front()});
    cpu_set_t one{};
    CPU_SET(static_cast<std::size_t>(all.front()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    cpus.avoid({});
    EXPECT_EQ(cpus_allowed(), std::vector<int>{all.front()});
  });
}

}  // namespace
}  // namespace stepscope
