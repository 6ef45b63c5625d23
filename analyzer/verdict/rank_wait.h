// The verdict of a rank whose communication is mostly waiting for other ranks.
#pragma once

#include "analyzer/report.h"

namespace stepscope {

// Fills share and ci of the loop's rank_wait, if it has one. If the loop, a kind of its steps or a
// step is communication-bound, and at least half of that is waiting, it is kStragglerBound instead;
// the loop only if the waiting alone would name a verdict.
void judge_rank_wait(LoopReport& loop);

}  // namespace stepscope
