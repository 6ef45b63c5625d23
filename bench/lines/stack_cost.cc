// The cost for a thread to take its native call stack, by stack depth.
//
//   g++ -O2 -std=c++20 -I. bench/lines/stack_cost.cc profiler/ring/stack_walk.cc -o /tmp/stack_cost
//   && /tmp/stack_cost
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "profiler/ring/stack_walk.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Cost {
  std::uint32_t frames = 0;
  double ns = 0;  // the median
};

Cost measure() {
  std::array<std::uint64_t, 64> addresses{};
  std::vector<double> times;
  Cost cost;
  for (int i = 0; i < 2000; ++i) {
    const auto began = Clock::now();
    cost.frames = stepscope::walk_stack(addresses);
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - began).count());
  }
  std::ranges::nth_element(times, times.begin() + 1000);
  cost.ns = times[1000];
  return cost;
}

[[gnu::noinline]] Cost at_depth(int depth) {
  const Cost cost = depth == 0 ? measure() : at_depth(depth - 1);
  asm volatile("" ::: "memory");  // no tail call
  return cost;
}

}  // namespace

int main() {
  for (const int depth : {5, 15, 35, 60}) {
    const Cost cost = at_depth(depth);
    std::printf("%u frames: %.1f us a stack, %.0f ns a frame\n", cost.frames, cost.ns / 1000,
                cost.ns / cost.frames);
  }
}
