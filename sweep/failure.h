// Why a run has no figures, judged by how its process ended and what it printed last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/sweep_rows.h"

namespace stepscope {

// What is known of a process that has ended.
struct Ended {
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  bool timed_out = false;
  double timeout_s = 0;
  bool killed_for_memory = false;  // as the kernel counts it
  std::int64_t peak_rss_bytes = 0;
  std::int64_t memory_bytes = 0;  // available before it started; 0: unknown
  std::string_view error_tail;
};

struct Failure {
  SweepOutcome outcome = SweepOutcome::kOk;
  std::string cause;  // a sentence without its full stop; empty: kOk
};

Failure failure_of(const Ended& ended);

// The last line that is neither blank nor the recorder's own, cut to `width` characters.
std::string last_line(std::string_view text, std::size_t width);

}  // namespace stepscope
