// Adds segments up: what each step spent on what, and which ops spent it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/attribute/segment.h"

namespace stepscope {

// Time of one step with equal category, phase and label.
struct Slice {
  Category category = Category::kHost;
  PhaseKind phase = PhaseKind::kNone;
  StringId label = StringId::kNone;
  Duration exposed{0};
  Duration hidden{0};  // behind something else

  friend bool operator==(const Slice&, const Slice&) = default;
};

// The slices of one step. A handful: a linear search is the fastest there.
class StepAccount {
 public:
  void add(const Segment& segment);
  void hide(Category category, PhaseKind phase, StringId label, Duration length);
  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
  [[nodiscard]] Duration total() const;  // exposed, as the two below
  [[nodiscard]] Duration of(Category category) const;
  [[nodiscard]] Duration of(PhaseKind phase) const;

 private:
  Slice& at(Category category, PhaseKind phase, StringId label);

  std::vector<Slice> slices_;
};

// What one op cost in one phase, over the steps that were added.
struct OpCost {
  StringId name = StringId::kNone;
  PhaseKind phase = PhaseKind::kNone;
  std::int64_t calls = 0;
  Duration self{0};    // outside any child op; launch included
  Duration launch{0};  // the framework's own part of self
};

// Bounded by the number of different names, not by the number of ops.
class OpTable {
 public:
  void add(const Segment& segment);
  void add_call(StringId name, PhaseKind phase);
  // By self time, the largest first.
  [[nodiscard]] std::vector<OpCost> sorted() const;

 private:
  OpCost& at(StringId name, PhaseKind phase);
  std::vector<std::array<OpCost, kPhaseKindCount>>
      by_name_;  // index: the StringId, dense in a store
};

}  // namespace stepscope
