// A line about a program that has the terminal to itself otherwise. It is shown in the row below
// the cursor while the program writes nothing, and removed as soon as the program writes again: the
// cursor never moves, and nothing that the program wrote is overwritten.
//
//   wwwwwwwwwwwwwwwwwwwwwww
//   epoch 3: loss 0.25 █
//                                 stepscope: step 320 · 11.3 ms a step
//
// What the program writes before the line is removed may end to the left of it, if it is more than
// one line. That is why the line is at the right edge.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "wrap/terminal_writes.h"

namespace stepscope {

class StatusBelow {
 public:
  // `patience`: how long nothing must have been written. `period`: of updates, at least.
  StatusBelow(std::chrono::milliseconds patience, std::chrono::milliseconds period);
  ~StatusBelow() { hide(); }
  StatusBelow(const StatusBelow&) = delete;
  StatusBelow& operator=(const StatusBelow&) = delete;

  // Readable once make_way() should be called; -1: no need.
  [[nodiscard]] int fd() const { return shown_ ? writes_.fd() : -1; }
  // Hides the line if anything was written since it was shown.
  void make_way();

  // Whether update() would show something. It does not on a terminal without control codes, on one
  // that another job of the shell has, or where nobody can tell what is written to it.
  [[nodiscard]] bool is_due() const;
  // Shows the result of `text()`, at most once per period.
  template <typename Text>
  void update(const Text& text) {
    if (is_due()) show(text());
  }

 private:
  using Clock = std::chrono::steady_clock;

  void show(std::string_view text);
  void hide();

  const std::chrono::milliseconds patience_, period_;
  TerminalWrites writes_;
  const bool enabled_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace stepscope
