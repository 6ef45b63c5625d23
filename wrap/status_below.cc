#include "wrap/status_below.h"

#include <unistd.h>

#include "terminal/terminal_out.h"

namespace stepscope {

StatusBelow::StatusBelow(std::chrono::milliseconds patience, std::chrono::milliseconds period)
    : patience_(patience),
      period_(period),
      enabled_(writes_.are_noticed() && takes_control_codes(STDERR_FILENO)),
      next_(Clock::now() + patience) {}

void StatusBelow::make_way() {
  if (!enabled_ || !writes_.take()) return;
  next_ = Clock::now() + patience_;
  hide();
}

bool StatusBelow::is_due() const {
  return enabled_ && Clock::now() >= next_ && ::tcgetpgrp(STDERR_FILENO) == ::getpgrp();
}

void StatusBelow::show(std::string_view text) {
  next_ = Clock::now() + period_;
  shown_ = true;
  show_status_below(text);
  writes_.take();  // our own
}

void StatusBelow::hide() {
  if (!shown_) return;
  shown_ = false;
  clear_status_below();
  writes_.take();
}

}  // namespace stepscope
