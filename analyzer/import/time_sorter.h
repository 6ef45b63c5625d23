// Brings events into the order of their starts, however many there are: an external merge sort.
//
// Files have their events in no reliable order: some list them by start, some by end, some thread
// by thread, and each rank has its own file. So runs of events are sorted and spilled, and merged
// at the end. A sorted file costs no more than a copy: no run is sorted again, and the merge reads
// one run after the other.
//
// Thread safety: none. Memory: one run while adding; while merging, a buffer for each of the runs
// that overlap in time, a single one if the file was in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/import/spill_file.h"
#include "store/status.h"
#include "store/time.h"

namespace stepscope {

// Row: trivially copyable, with `start` and `dur`. Rows that start together come in the order of
// their ends, the last first, so that a parent comes before its children; equal rows are ordered by
// Rank()(row), and then by the order of adding.
template <typename Row, typename Rank>
class TimeSorter {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  // `run_bytes`: how much memory a run may take.
  TimeSorter(SpillFile& file, std::size_t run_bytes)
      : file_(file), run_length_(std::max<std::size_t>(1, run_bytes / sizeof(Row))) {}

  Status add(const Row& row) {
    sorted_ = sorted_ && (rows_.empty() || !before(row, rows_.back()));
    rows_.push_back(row);
    ++count_;
    return rows_.size() < run_length_ ? Status() : spill();
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  // Moves all rows added since the last call (or the beginning) by `by`, as seen by merge(): the
  // clock of a file may be known only at its end.
  Status end_source(Duration by) {
    if (Status status = spill(); !status.ok()) return status;
    for (; shifted_ < runs_.size(); ++shifted_) runs_[shifted_].shift = by;
    return {};
  }

  // Calls `visit` with each row, in order, until it returns an error. Once.
  template <typename Visit>
  Status merge(const Visit& visit);

 private:
  struct Run {
    Row first;
    std::int64_t offset = 0;
    std::size_t count = 0;
    Duration shift{0};
  };

  // A run that is being merged.
  struct Cursor {
    std::vector<Row> rows;
    std::size_t at = 0;
    std::int64_t offset = 0;    // of what follows `rows`
    std::size_t remaining = 0;  // rows there
    Duration shift{0};
    std::size_t run = 0;

    [[nodiscard]] const Row& row() const { return rows[at]; }
  };

  static bool before(const Row& a, const Row& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.dur != b.dur) return a.dur > b.dur;
    return Rank()(a) < Rank()(b);
  }

  // For a heap, whose top is the greatest.
  struct Later {
    bool operator()(const std::unique_ptr<Cursor>& a, const std::unique_ptr<Cursor>& b) const {
      if (before(a->row(), b->row())) return false;
      return before(b->row(), a->row()) || a->run > b->run;
    }
  };

  static void push(std::vector<std::unique_ptr<Cursor>>& heap, std::unique_ptr<Cursor> cursor) {
    heap.push_back(std::move(cursor));
    std::push_heap(heap.begin(), heap.end(), Later());
  }

  Status spill() {
    if (rows_.empty()) return {};
    if (!std::exchange(sorted_, true)) std::stable_sort(rows_.begin(), rows_.end(), before);
    const Result<std::int64_t> offset = file_.append(std::as_bytes(std::span(rows_)));
    if (!offset.ok()) return offset.status();
    runs_.push_back({rows_.front(), *offset, rows_.size(), {}});
    rows_.clear();
    return {};
  }

  // Fills an empty cursor's rows.
  Status load(Cursor& cursor) {
    constexpr std::size_t kRows = std::max<std::size_t>(1, (std::size_t{1} << 18) / sizeof(Row));
    cursor.rows.resize(std::min(kRows, cursor.remaining));
    cursor.at = 0;
    const auto bytes = std::as_writable_bytes(std::span(cursor.rows));
    if (Status status = file_.read(cursor.offset, bytes); !status.ok()) return status;
    cursor.offset += static_cast<std::int64_t>(bytes.size());
    cursor.remaining -= cursor.rows.size();
    for (Row& row : cursor.rows) row.start += cursor.shift;
    return {};
  }

  SpillFile& file_;
  const std::size_t run_length_;
  std::vector<Row> rows_;  // the run that is being added to
  bool sorted_ = true;     // rows_, so far
  std::int64_t count_ = 0;
  std::vector<Run> runs_;
  std::size_t shifted_ = 0;  // runs whose source has ended
};

template <typename Row, typename Rank>
template <typename Visit>
Status TimeSorter<Row, Rank>::merge(const Visit& visit) {
  if (Status status = end_source(Duration(0)); !status.ok()) return status;
  std::vector<Row>().swap(rows_);
  for (Run& run : runs_) run.first.start += run.shift;
  // Runs by their first row: one is opened when its turn comes, and not before.
  std::stable_sort(runs_.begin(), runs_.end(),
                   [](const Run& a, const Run& b) { return before(a.first, b.first); });
  std::vector<std::unique_ptr<Cursor>> open;  // a heap, the earliest row on top
  std::size_t next = 0;
  while (next < runs_.size() || !open.empty()) {
    while (next < runs_.size() &&
           (open.empty() || !before(open.front()->row(), runs_[next].first))) {
      const Run& run = runs_[next];
      auto cursor = std::make_unique<Cursor>(Cursor{{}, 0, run.offset, run.count, run.shift, next});
      if (Status status = load(*cursor); !status.ok()) return status;
      push(open, std::move(cursor));
      ++next;
    }
    std::pop_heap(open.begin(), open.end(), Later());
    auto cursor = std::move(open.back());
    open.pop_back();
    const Row* const limit = open.empty() ? nullptr : &open.front()->row();
    const Row* const limit_run = next < runs_.size() ? &runs_[next].first : nullptr;
    do {
      if (Status status = visit(cursor->row()); !status.ok()) return status;
      if (++cursor->at == cursor->rows.size() && cursor->remaining > 0) {
        if (Status status = load(*cursor); !status.ok()) return status;
      }
    } while (cursor->at < cursor->rows.size() &&
             (limit == nullptr || before(cursor->row(), *limit)) &&
             (limit_run == nullptr || before(cursor->row(), *limit_run)));
    if (cursor->at < cursor->rows.size()) push(open, std::move(cursor));
  }
  return {};
}

}  // namespace stepscope
