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

// `rows` are those of `costs`, in that order. Returns how many steps each block that was taken
// holds.
template <typename Cost, typename Row>
std::vector<std::int64_t> add_samples(const std::vector<Cost>& costs,
                                      const std::vector<OpBlock>& blocks,
                                      const std::vector<std::size_t>& analysed,
                                      std::vector<Row>& rows) {
  std::map<std::pair<StringId, PhaseKind>, std::size_t> row_of;
  for (std::size_t i = 0; i < std::min(costs.size(), rows.size()); ++i) {
    row_of[{costs[i].name, costs[i].phase}] = i;
  }
  std::vector<std::int64_t> steps;
  for (const OpBlock& block : blocks) {
    if (!all_analysed(block, analysed)) continue;
    const std::size_t index = steps.size();
    steps.push_back(static_cast<std::int64_t>(block.steps));
    for (const OpCost& cost : block.ops) {
      const auto row = row_of.find({cost.name, cost.phase});
      if (row == row_of.end()) continue;
      rows[row->second].samples.push_back({index, cost.calls, to_ns(cost.self)});
    }
  }
  return steps;
}

}  // namespace

void add_op_samples(LoopReport& report, const std::vector<OpCost>& costs,
                    const std::vector<OpBlock>& blocks) {
  report.op_blocks = add_samples(costs, blocks, report.op_steps, report.ops);
}

void add_kernel_samples(LoopReport& report, const std::vector<KernelCost>& costs,
                        const std::vector<OpBlock>& blocks) {
  report.kernel_blocks = add_samples(costs, blocks, report.op_steps, report.kernels);
}

}  // namespace stepscope
