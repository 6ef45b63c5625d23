// Tells whether this process has begun to exit. From then on libtorch must not be called any more
// than the program itself does: exit() destroys libtorch's static objects while other threads, and
// the program's own static objects, still run.
#pragma once

namespace stepscope {

// Whether exit() was called, or main() has returned. If another thread than the main one calls
// exit(), this may be noticed only after some of the program's exit handlers have run. Thread-safe.
[[nodiscard]] bool exit_has_begun() noexcept;

// While one exists, exit() waits for it, at most a second, before it runs the exit handlers. Create
// one, then ask exit_has_begun(), then call libtorch. Thread-safe.
class DelayedExit {
 public:
  DelayedExit() noexcept;
  ~DelayedExit();
  DelayedExit(const DelayedExit&) = delete;
  DelayedExit& operator=(const DelayedExit&) = delete;
};

}  // namespace stepscope
