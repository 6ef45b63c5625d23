// What was found by comparing the ranks of a distributed run, in words.
#pragma once

#include <string>

#include "analyzer/report.h"

namespace stepscope {

// Which rank the others wait for, and what that costs.
std::string ranks_sentence(const RankReport& report);

// "Of 24 steps, rank 0 came last in 8; in 15 no rank held up the others; 1 was warm-up."
std::string rank_steps_sentence(const RankReport& report);

// "of the step waits for rank 0"
std::string rank_wait_clause(const RankWait& wait);
// "Rank 0 comes last because of its input: 11.0 ms more than the fastest rank in those steps,
// mostly in data.py:41 decode." Empty if the reason is unknown.
std::string rank_wait_reason(const RankWait& wait);

// The verdict of a rank in a few words: "input-bound", "waits for rank 0".
std::string rank_verdict(const RankRow& row);

// "small.py:21 stall": without the folder.
std::string short_line_text(const LineShare& line);

}  // namespace stepscope
