// A comparison in sentences: the answer, the causes of the difference, the outcomes of gates.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/compare/gate.h"

namespace stepscope {

// "faster", "slower", "noise" or "unknown" (a single step): B against A, by LoopComparison::pace().
std::string change_of(const LoopComparison& loop);

// "B is 1.9 × faster: 2.54 ms a step instead of 4.82 (−47.3 %, 95 % CI −48.1 … −46.2)"
// By the time per sample if that decides.
std::string answer_of(const LoopComparison& loop);

// What changed, one sentence each; empty if nothing did.
std::vector<std::string> reasons_of(const LoopComparison& loop);

// "data.py:41 decode", or "data.py:41→44 decode" if B has it on another line.
std::string line_text(const LineDifference& line);

// "forward is unknown without recorded ops": why a gate is undecided; "" if it is decided.
std::string doubt_text(const GateOutcome& outcome);

// "+12.3 % (95 % CI +11.0 … +13.6)": the value of a decided gate, in its unit.
std::string outcome_text(const GateOutcome& outcome);

std::string signed_time_text(double ns);           // "−2.28 ms", "+12.3 µs", "0 ns"
std::string signed_percent_text(double fraction);  // "−47.3 %"
std::string time_interval_text(Interval ns);  // "−2.31 … −2.25 ms": in the unit of the larger one

}  // namespace stepscope
