// A line on a terminal that shows the progress of a command, once it takes long enough for a person
// to wonder. Prints nothing if standard error is not a terminal, or one without control codes.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "terminal/terminal_out.h"

namespace stepscope {

class ProgressLine {
 public:
  explicit ProgressLine(std::chrono::milliseconds patience,
                        std::chrono::milliseconds period = std::chrono::milliseconds(200))
      : enabled_(takes_control_codes(STDERR_FILENO)),
        period_(period),
        next_(Clock::now() + patience) {}
  ~ProgressLine() {
    if (shown_) clear_status();
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether update() would show something.
  [[nodiscard]] bool is_due() const { return enabled_ && Clock::now() >= next_; }
  // Shows the result of `text()`, at most once per period.
  template <typename Text>
  void update(const Text& text) {
    if (!is_due()) return;
    next_ = Clock::now() + period_;
    shown_ = true;
    show_status(text());
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool enabled_;
  const std::chrono::milliseconds period_;
  bool shown_ = false;
  Clock::time_point next_;
};

// "12.3 of 45.6"; in millions.
inline std::string millions_of(std::int64_t done, std::int64_t total) {
  return fmt::format("{:.1f} of {:.1f}", static_cast<double>(done) / 1e6,
                     static_cast<double>(total) / 1e6);
}

}  // namespace stepscope
