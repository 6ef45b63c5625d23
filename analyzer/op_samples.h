// The course of each op over the steps of a loop, in a report.
#pragma once

#include <vector>

#include "analyzer/attribute/op_series.h"
#include "analyzer/report.h"

namespace stepscope {

// Fills report.op_blocks, and the samples of report.ops, whose rows are `costs` in that order. A
// block with a step that is not among the analysed ones is left out.
void add_op_samples(LoopReport& report, const std::vector<OpCost>& costs,
                    const std::vector<OpBlock>& blocks);

}  // namespace stepscope
