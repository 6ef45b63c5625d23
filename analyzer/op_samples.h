// Adds the figures of each op and kernel per block of steps to a report.
#pragma once

#include <vector>

#include "analyzer/attribute/kernel_table.h"
#include "analyzer/attribute/op_series.h"
#include "analyzer/report.h"

namespace stepscope {

// Fills report.op_blocks, and the samples of report.ops, whose rows are `costs` in that order. A
// block with a step that is not analysed is left out.
void add_op_samples(LoopReport& report, const std::vector<OpCost>& costs,
                    const std::vector<OpBlock>& blocks);
// The same for report.kernel_blocks and report.kernels.
void add_kernel_samples(LoopReport& report, const std::vector<KernelCost>& costs,
                        const std::vector<OpBlock>& blocks);

}  // namespace stepscope
