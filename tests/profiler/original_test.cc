// libtorch's own functions are found where their caller would have found them.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stepscope/c_api.h>

#include <array>
#include <thread>
#include <vector>

namespace {

using CallZeroGrad = void (*)(int*);

// As Python loads an extension module: it and what it needs, seen by nobody else.
CallZeroGrad load_caller(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  return reinterpret_cast<CallZeroGrad>(dlsym(library, "call_zero_grad"));
}

// Neither is called libtorch_cpu.so, and what one's caller gets from the other would be the crash.
TEST(OriginalTest, EachCallerGetsThatOfItsOwnLibtorch) {
  ASSERT_EQ(stepscope_is_recording(), 0);  // linked in, and so before both
  const std::array callers{load_caller(STEPSCOPE_FIRST_CALLER),
                           load_caller(STEPSCOPE_SECOND_CALLER)};
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < callers.size(); ++i) {
      ASSERT_NE(callers[i], nullptr);
      int called = 0;
      callers[i](&called);
      EXPECT_EQ(called, static_cast<int>(i) + 1);
    }
  }
}

TEST(OriginalTest, ManyThreadsMayAskForItFirst) {
  const CallZeroGrad caller = load_caller(STEPSCOPE_SECOND_CALLER);
  ASSERT_NE(caller, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([caller] {
      for (int round = 0; round < 1000; ++round) {
        int called = 0;
        caller(&called);
        ASSERT_EQ(called, 2);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

extern "C" void zero_grad_of_nobody(int* self) __asm__("_ZN5torch5optim9Optimizer9zero_gradEv");

// Without us the dynamic linker would end the program so.
TEST(OriginalTest, WhatNothingDefinesEndsTheProgramAsTheLinkerWould) {
  int called = 0;
  EXPECT_EXIT(zero_grad_of_nobody(&called), testing::ExitedWithCode(127),
              "symbol lookup error: undefined symbol: _ZN5torch5optim9Optimizer9zero_gradEv");
}

}  // namespace
