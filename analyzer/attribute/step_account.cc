#include "analyzer/attribute/step_account.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stepscope {

Slice& StepAccount::at(Category category, PhaseKind phase, StringId label) {
  const auto is_it = [&](const Slice& slice) {
    return slice.category == category && slice.phase == phase && slice.label == label;
  };
  if (index_.empty()) {
    const auto known = std::find_if(slices_.begin(), slices_.end(), is_it);
    if (known != slices_.end()) return *known;
    if (slices_.size() == kFew) {
      for (std::size_t i = 0; i < slices_.size(); ++i) index_[key_of(slices_[i])] = i;
    }
  }
  const Slice slice{category, phase, label};
  if (!index_.empty()) {
    const auto [known, added] = index_.try_emplace(key_of(slice), slices_.size());
    if (!added) return slices_[known->second];
  }
  slices_.push_back(slice);
  return slices_.back();
}

std::uint64_t StepAccount::key_of(const Slice& slice) {
  return static_cast<std::uint64_t>(slice.label) << 16 |
         static_cast<std::uint64_t>(slice.category) << 8 | static_cast<std::uint64_t>(slice.phase);
}

void StepAccount::add(const Segment& segment) {
  add(segment.category, segment.phase, segment.label, segment.range.length());
}

void StepAccount::add(Category category, PhaseKind phase, StringId label, Duration length) {
  at(category, phase, label).exposed += length;
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

void OpTable::add(const Segment& segment) {
  if (segment.op == StringId::kNone) return;
  OpCost& cost = rows_.at(segment.op, segment.phase);
  cost.self += segment.range.length();
  if (segment.category == Category::kLaunch) cost.launch += segment.range.length();
}

void OpTable::add_call(StringId name, PhaseKind phase) { ++rows_.at(name, phase).calls; }

std::vector<OpCost> OpTable::sorted() const {
  std::vector<OpCost> result;
  std::copy_if(rows_.rows().begin(), rows_.rows().end(), std::back_inserter(result),
               [](const OpCost& cost) { return cost.calls > 0 || cost.self.count() > 0; });
  std::sort(result.begin(), result.end(), [](const OpCost& a, const OpCost& b) {
    if (a.self != b.self) return a.self > b.self;
    return std::pair(a.name, a.phase) < std::pair(b.name, b.phase);
  });
  return result;
}

}  // namespace stepscope
