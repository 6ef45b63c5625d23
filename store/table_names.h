// Tables with a row for each name and phase. Names come from a store, whose ids may be any number,
// and from programs, some of which make a new one each step ("iter 12345"). So only the first
// kMaxNames names get rows of their own, and later ones share one row per phase.
//
// Thread safety: none. Memory: some 100 bytes for each name with rows of its own, and 8 bytes for
// each that shares a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/events.h"

namespace stepscope {

// A model has some hundred ops and kernels; tables of this size are still read, sorted and shown
// at once.
inline constexpr std::size_t kMaxNames = 8192;

// Stands for the names that share a row. No store has a name with this number.
inline constexpr StringId kFurtherNames{std::numeric_limits<std::uint32_t>::max()};

// Counts the distinct names among many that may repeat.
class DistinctNames {
 public:
  void add(StringId name) {
    if (!names_.empty() && names_.back() == name) return;
    names_.push_back(name);
    if (names_.size() >= 2 * compact_ + 1024) compact();
  }
  [[nodiscard]] std::size_t count() const {
    DistinctNames all = *this;
    all.compact();
    return all.names_.size();
  }

 private:
  void compact() {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    compact_ = names_.size();
  }

  std::vector<StringId> names_;
  std::size_t compact_ = 0;  // names_.size() after the last compact()
};

// The names of the tables of one loop.
class TableNames {
 public:
  // The name whose row counts what `name` did: itself, or kFurtherNames.
  StringId row_name(StringId name) {
    if (known_.contains(name)) return name;
    if (known_.size() < kMaxNames) {
      known_.insert(name);
      return name;
    }
    shared_.add(name);
    return kFurtherNames;
  }
  // How many names share rows.
  [[nodiscard]] std::int64_t merged() const { return static_cast<std::int64_t>(shared_.count()); }

 private:
  std::unordered_set<StringId> known_;
  DistinctNames shared_;
};

// A row of a table for each name and phase.
template <typename Row>
class RowsByName {
 public:
  // Adds the row if it is missing, with its `name` and `phase` set and all other fields at their
  // defaults.
  Row& at(StringId name, PhaseKind phase) {
    const std::uint64_t key =
        static_cast<std::uint64_t>(name) << 8 | static_cast<std::uint8_t>(phase);
    const auto [known, added] = index_.try_emplace(key, rows_.size());
    if (added) {
      rows_.emplace_back();
      rows_.back().name = name;
      rows_.back().phase = phase;
    }
    return rows_[known->second];
  }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::vector<Row> take() {
    // Clearing a map takes time in proportion to its largest size so far.
    if (index_.bucket_count() > 64 + 16 * rows_.size()) index_ = {};
    index_.clear();
    return std::exchange(rows_, {});
  }

 private:
  std::vector<Row> rows_;  // in the order in which they were added
  std::unordered_map<std::uint64_t, std::size_t> index_;
};

}  // namespace stepscope
