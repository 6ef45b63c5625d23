// A limit that B must keep, for scripts: "step_time>+5%". It fails only when B lies beyond the
// limit with the whole of the interval, never on noise alone.
//
//   METRIC>LIMIT     METRIC is step_time, p50, a category or a phase; "phase.input" and
//   "phase.other"
//                    are the phases of those names
//     >+5%           B takes 5 % more time than A, relative to A. A minus: 5 % less
//     >+2ms          B takes 2 ms a step more than A (ns, us, ms, s)
//     >+2pp          the share of the step is 2 percentage points more than A's (no step times)
//     >10%           the share of the step in B, whatever A's is (no step times)
//     >5ms           B's time a step, whatever A's is
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "store/status.h"

namespace stepscope {

enum class LimitKind : std::uint8_t { kRelative, kMoreTime, kMorePoints, kShare, kTime };

struct Gate {
  std::string text;    // as it was written
  std::string metric;  // "step_time", "p50", or the name of a part
  bool of_phase = false;
  LimitKind kind = LimitKind::kRelative;
  double limit = 0;  // a fraction, or ns
};

// Errors: kUsage, one line.
Result<Gate> parse_gate(std::string_view text);

enum class GateState : std::uint8_t {
  kPassed,
  kFailed,
  kUndecided,  // cannot be told: `why` says so
};

struct GateOutcome {
  Gate gate;
  GateState state = GateState::kPassed;
  std::size_t loop = 0;  // in Comparison::loops, the one that the rest is about
  double value = 0;      // in the unit of the limit
  Interval interval;
  bool bounded = true;  // false: relative to an A that is not told from 0; no value, no interval
  std::string why;

  // Beyond the limit, but not with the whole interval.
  [[nodiscard]] bool only_noise() const {
    return state == GateState::kPassed && bounded && value > gate.limit;
  }
};

// Each gate holds for every compared loop; the outcome is that of the worst of them. With several
// loops each is tested the harder, so that together they fail by chance as seldom as one
// (Bonferroni).
std::vector<GateOutcome> check_gates(const std::vector<Gate>& gates, const Comparison& comparison);

}  // namespace stepscope
