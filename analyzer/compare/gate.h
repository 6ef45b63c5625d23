// A limit that B must keep, for scripts: "step_time>+5%". It fails only when the whole confidence
// interval of B lies beyond the limit, never on noise alone.
//
//   METRIC>LIMIT     METRIC is step_time, p50, a category or a phase; "phase.input" and
//                    "phase.other" are the phases of those names
//     >+5%           B takes 5 % more time than A, relative to A; -5%: 5 % less
//     >+2ms          B takes 2 ms more per step than A (ns, us, ms, s)
//     >+2pp          the share of the step is 2 percentage points more than A's (no step times)
//     >10%           the share of the step in B, regardless of A (no step times)
//     >5ms           B's time per step, regardless of A
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
  std::string text;    // as written
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
  kUndecided,  // the result is unknown; `doubt` says why
};

enum class GateDoubt : std::uint8_t {
  kNone,
  kSingleStep,  // a single step says nothing about noise
  kNoOps,       // the metric is unknown without recorded ops
};

struct GateOutcome {
  Gate gate;
  GateState state = GateState::kPassed;
  std::size_t loop = 0;  // index in Comparison::loops of the loop that this is about
  double value = 0;      // in the unit of the limit
  Interval interval;
  bool bounded = true;  // false: relative to an A that cannot be distinguished from 0; no value
  GateDoubt doubt = GateDoubt::kNone;

  // Beyond the limit, but not by the whole interval.
  [[nodiscard]] bool only_noise() const {
    return state == GateState::kPassed && bounded && value > gate.limit;
  }
};

// Each gate applies to every compared loop; the outcome is that of the worst loop. With several
// loops each test is stricter, so that together they fail by chance as rarely as a single one
// (Bonferroni).
std::vector<GateOutcome> check_gates(const std::vector<Gate>& gates, const Comparison& comparison);

}  // namespace stepscope
