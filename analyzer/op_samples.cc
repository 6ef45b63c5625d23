#include "analyzer/op_samples.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stepscope {
namespace {

// `analysed` is in order.
bool all_analysed(const OpBlock& block, const std::vector<std::size_t>& analysed) {
  const auto first = std::lower_bound(analysed.begin(), analysed.end(), block.first);
  const auto last = std::upper_bound(first, analysed.end(), block.last);
  return static_cast<std::size_t>(last - first) == block.steps;
}

}  // namespace

void add_op_samples(LoopReport& report, const std::vector<OpCost>& costs,
                    const std::vector<OpBlock>& blocks) {
  std::map<std::pair<StringId, PhaseKind>, std::size_t> row_of;
  for (std::size_t i = 0; i < std::min(costs.size(), report.ops.size()); ++i) {
    row_of[{costs[i].name, costs[i].phase}] = i;
  }
  for (const OpBlock& block : blocks) {
    if (!all_analysed(block, report.analysed)) continue;
    const std::size_t index = report.op_blocks.size();
    report.op_blocks.push_back(static_cast<std::int64_t>(block.steps));
    for (const OpCost& cost : block.ops) {
      const auto row = row_of.find({cost.name, cost.phase});
      if (row == row_of.end()) continue;
      report.ops[row->second].samples.push_back({index, cost.calls, to_ns(cost.self)});
    }
  }
}

}  // namespace stepscope
