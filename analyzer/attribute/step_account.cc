#include "analyzer/attribute/step_account.h"

#include <algorithm>

namespace stepscope {

Slice& StepAccount::at(Category category, PhaseKind phase, StringId label) {
  for (Slice& slice : slices_) {
    if (slice.category == category && slice.phase == phase && slice.label == label) return slice;
  }
  slices_.push_back({category, phase, label});
  return slices_.back();
}

void StepAccount::add(const Segment& segment) {
  at(segment.category, segment.phase, segment.label).exposed += segment.range.length();
}

void StepAccount::hide(Category category, PhaseKind phase, StringId label, Duration length) {
  at(category, phase, label).hidden += length;
}

Duration StepAccount::total() const {
  Duration sum{0};
  for (const Slice& slice : slices_) sum += slice.exposed;
  return sum;
}

Duration StepAccount::of(Category category) const {
  Duration sum{0};
  for (const Slice& slice : slices_)
    sum += slice.category == category ? slice.exposed : Duration(0);
  return sum;
}

Duration StepAccount::of(PhaseKind phase) const {
  Duration sum{0};
  for (const Slice& slice : slices_) sum += slice.phase == phase ? slice.exposed : Duration(0);
  return sum;
}

OpCost& OpTable::at(StringId name, PhaseKind phase) {
  const auto index = static_cast<std::size_t>(name);
  if (index >= by_name_.size()) by_name_.resize(std::max(index + 1, by_name_.size() * 2));
  OpCost& cost = by_name_[index][static_cast<std::size_t>(phase)];
  cost.name = name;
  cost.phase = phase;
  return cost;
}

void OpTable::add(const Segment& segment) {
  if (segment.op == StringId::kNone) return;
  OpCost& cost = at(segment.op, segment.phase);
  cost.self += segment.range.length();
  if (segment.category == Category::kLaunch) cost.launch += segment.range.length();
}

void OpTable::add_call(StringId name, PhaseKind phase) { ++at(name, phase).calls; }

std::vector<OpCost> OpTable::sorted() const {
  std::vector<OpCost> result;
  for (const auto& phases : by_name_) {
    for (const OpCost& cost : phases) {
      if (cost.calls > 0 || cost.self.count() > 0) result.push_back(cost);
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const OpCost& a, const OpCost& b) { return a.self > b.self; });
  return result;
}

}  // namespace stepscope
