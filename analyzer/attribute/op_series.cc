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

OpCost& OpSeries::at(StringId name, PhaseKind phase) {
  const auto index = static_cast<std::size_t>(name);
  if (index >= place_.size()) place_.resize(std::max(index + 1, place_.size() * 2));
  std::uint32_t& place = place_[index][static_cast<std::size_t>(phase)];
  if (place == 0) {
    current_.push_back({name, phase, 0, Duration(0), Duration(0)});
    place = static_cast<std::uint32_t>(current_.size());
  }
  return current_[place - 1];
}

void OpSeries::add(const Segment& segment) {
  if (segment.op == StringId::kNone) return;
  OpCost& cost = at(segment.op, segment.phase);
  cost.self += segment.range.length();
  if (segment.category == Category::kLaunch) cost.launch += segment.range.length();
}

void OpSeries::add_call(StringId name, PhaseKind phase) { ++at(name, phase).calls; }

void OpSeries::add_whole(StringId name, PhaseKind phase, Duration dur) {
  OpCost& cost = at(name, phase);
  ++cost.calls;
  cost.self += dur;
}

void OpSeries::end_step(std::size_t step, bool counted) {
  for (const OpCost& cost : current_) {
    place_[static_cast<std::size_t>(cost.name)][static_cast<std::size_t>(cost.phase)] = 0;
  }
  std::vector<OpCost> ops = std::move(current_);
  current_.clear();
  if (!counted) return;
  std::sort(ops.begin(), ops.end(), before);
  OpBlock block{step, step, 1, std::move(ops)};
  if (!blocks_.empty() && blocks_.back().steps < stride_) {
    join(blocks_.back(), block);
    return;
  }
  if (blocks_.size() == 2 * kMostOpBlocks) halve();
  blocks_.push_back(std::move(block));
}

// Joins each two neighbours. All blocks are whole then, and their number is even.
void OpSeries::halve() {
  for (std::size_t i = 0; i < kMostOpBlocks; ++i) {
    if (i > 0) blocks_[i] = std::move(blocks_[2 * i]);
    join(blocks_[i], blocks_[2 * i + 1]);
  }
  blocks_.resize(kMostOpBlocks);
  stride_ *= 2;
}

std::vector<OpBlock> OpSeries::take_blocks() { return std::exchange(blocks_, {}); }

}  // namespace stepscope
