#include "analyzer/attribute/op_series.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

bool before(const OpCost& a, const OpCost& b) {
  return a.name != b.name ? a.name < b.name : a.phase < b.phase;
}

// Adds `more` to `ops`; both are in order, and stay so.
void merge_into(std::vector<OpCost>& ops, const std::vector<OpCost>& more) {
  std::vector<OpCost> merged;
  merged.reserve(std::max(ops.size(), more.size()));
  auto it = ops.begin();
  for (const OpCost& cost : more) {
    while (it != ops.end() && before(*it, cost)) merged.push_back(*it++);
    merged.push_back(cost);
    if (it == ops.end() || before(cost, *it)) continue;
    merged.back().calls += it->calls;
    merged.back().self += it->self;
    merged.back().launch += it->launch;
    ++it;
  }
  merged.insert(merged.end(), it, ops.end());
  ops = std::move(merged);
}

void join(OpBlock& block, const OpBlock& next) {
  block.last = next.last;
  block.steps += next.steps;
  merge_into(block.ops, next.ops);
}

}  // namespace

void OpSeries::add(const Segment& segment) {
  if (segment.op == StringId::kNone) return;
  OpCost& cost = current_.at(segment.op, segment.phase);
  cost.self += segment.range.length();
  if (segment.category == Category::kLaunch) cost.launch += segment.range.length();
}

void OpSeries::add_call(StringId name, PhaseKind phase) { ++current_.at(name, phase).calls; }

void OpSeries::add_whole(StringId name, PhaseKind phase, Duration dur) {
  OpCost& cost = current_.at(name, phase);
  ++cost.calls;
  cost.self += dur;
}

void OpSeries::end_step(std::size_t step, bool counted) {
  std::vector<OpCost> ops = current_.take();
  if (!counted) return;
  std::sort(ops.begin(), ops.end(), before);
  OpBlock block{step, step, 1, std::move(ops)};
  if (!blocks_.empty() && blocks_.back().steps < stride_) {
    join(blocks_.back(), block);
    return;
  }
  if (blocks_.size() == 2 * kMaxOpBlocks) halve();
  blocks_.push_back(std::move(block));
}

// Joins each pair of neighbours. All blocks must be whole, and their number even.
void OpSeries::halve() {
  for (std::size_t i = 0; i < kMaxOpBlocks; ++i) {
    if (i > 0) blocks_[i] = std::move(blocks_[2 * i]);
    join(blocks_[i], blocks_[2 * i + 1]);
  }
  blocks_.resize(kMaxOpBlocks);
  stride_ *= 2;
}

std::vector<OpBlock> OpSeries::take_blocks() { return std::exchange(blocks_, {}); }

}  // namespace stepscope
