#include "profiler/session/process_exit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace stepscope {
namespace {

constinit std::atomic<bool> begun{false};
constinit std::atomic<int> delays{0};

// The exiting thread itself may be the one that delays: a signal's handler may call exit().
void begin() {
  begun = true;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (delays > 0 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// exit() destroys the thread-local objects of its thread first. Then it calls the exit handlers,
// the last registered one first. So if the main thread calls it, this handler precedes all others.
// The main thread may also end alone, by pthread_exit(): then the handler is called later, at exit.
struct EndOfMainThread {
  ~EndOfMainThread() { std::atexit(begin); }
};

__attribute__((constructor)) void watch_for_exit() {
  std::atexit(begin);  // if another thread exits
  if (syscall(SYS_gettid) != getpid()) return;
  thread_local const EndOfMainThread at_its_end;
  (void)at_its_end;
}

}  // namespace

bool exit_has_begun() noexcept { return begun; }

DelayedExit::DelayedExit() noexcept { ++delays; }

DelayedExit::~DelayedExit() { --delays; }

}  // namespace stepscope
