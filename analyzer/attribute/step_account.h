// Sums up segments: what each step spent its time on, and which ops spent it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/attribute/segment.h"
#include "store/table_names.h"

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

// The slices of one step. Usually there are a handful, for which a linear search is the fastest. A
// scope with a new name in each iteration makes many.
class StepAccount {
 public:
  void add(const Segment& segment);
  void add(Category category, PhaseKind phase, StringId label, Duration length);
  void hide(Category category, PhaseKind phase, StringId label, Duration length);
  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
  [[nodiscard]] Duration total() const;  // exposed time, as are the two below
  [[nodiscard]] Duration of(Category category) const;
  [[nodiscard]] Duration of(PhaseKind phase) const;

 private:
  static constexpr std::size_t kFew = 32;
  Slice& at(Category category, PhaseKind phase, StringId label);
  static std::uint64_t key_of(const Slice& slice);

  std::vector<Slice> slices_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // empty while there are few
};

// What one op cost in one phase, over the steps that were added.
struct OpCost {
  StringId name = StringId::kNone;
  PhaseKind phase = PhaseKind::kNone;
  std::int64_t calls = 0;
  Duration self{0};    // outside any child op; launch included
  Duration launch{0};  // the framework's overhead within self
};

// A row for each name and phase: bounded where the names are those of a TableNames.
class OpTable {
 public:
  void add(const Segment& segment);
  void add_call(StringId name, PhaseKind phase);
  // By self time, the largest first.
  [[nodiscard]] std::vector<OpCost> sorted() const;

 private:
  RowsByName<OpCost> rows_;
};

}  // namespace stepscope
