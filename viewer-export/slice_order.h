// Puts the ops of one thread in an order that every trace reader draws correctly.
//
// A store yields ops in the order of their ends: children before parents. Readers sort by start, so
// the order in the file matters only among equal starts: there a parent must come first. An op can
// share its start only with the first child of its own, and that child's first child, and so on. So
// it is enough to hold back the first child of each open parent until the parent arrives; nothing
// else waits.
//
// Memory: usually one waiting op per level of depth. Zero-length ops at the very start of their
// parent wait too, up to kMaxHeld of them (those beyond are drawn correctly, but not inside it).
// If many ops begin in the same nanosecond, up to kMaxTied per thread wait; takes() refuses ops
// beyond that.
//
// Time: constant per op, plus a walk along the depths (at most 256) where it closes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "store/events.h"

namespace stepscope {

// An op to be written, with the flow arrows that are attached to it; 0: none.
struct OpSlice {
  Op op;
  std::uint64_t flow_out = 0;  // an arrow begins here
  std::uint64_t flow_in = 0;   // an arrow ends here
};

class SliceOrder {
 public:
  static constexpr std::size_t kMaxHeld = 1024;
  static constexpr std::size_t kMaxTied = 8192;

  // Whether the next op of the thread nests in the previous ones. If not, it belongs on a separate
  // track: it overlaps another partly, came out of order, or would exceed kMaxTied.
  [[nodiscard]] bool takes(const Op& op) const;

  // Takes the next slice of the thread, which takes() must allow, and calls `emit(const OpSlice&)`
  // for those that no longer need to wait.
  template <typename Emit>
  void add(const OpSlice& slice, Emit&& emit);

  // Emits what is still held. Nothing may follow.
  template <typename Emit>
  void finish(Emit&& emit);

  // The held slice with this start and sequence number, to attach an arrow to it; nullptr if it was
  // emitted.
  OpSlice* find_held(SessionTime start, std::int64_t sequence);

  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  // The ops of one depth since the last op of a lesser depth: the children, so far, of a parent
  // that is still open.
  struct Level {
    std::uint8_t depth = 0;
    SessionTime first_start;
    SessionTime last_end;
    std::deque<OpSlice> held;  // all start at first_start; parents before children
  };

  [[nodiscard]] bool nests(const Op& op) const;
  // Whether a waiting op below `op` begins at the same time. `op` must nest.
  [[nodiscard]] bool has_followers(const Op& op) const;
  // Whether `level` holds descendants of an op that ends now.
  static bool is_below(const Level& level, const Op& op);
  // Closes the levels below `op`: emits what began after it did, and leaves the rest in followers_.
  template <typename Emit>
  void close_below(const Op& op, Emit& emit);
  Level& open_level(const Op& op);

  std::vector<Level> levels_;  // [0, open_): depths ascend. Closed ones keep their memory.
  std::size_t open_ = 0;
  std::size_t held_ = 0;
  std::deque<OpSlice> followers_;  // scratch of add()
};

inline bool SliceOrder::is_below(const Level& level, const Op& op) {
  if (level.depth != op.depth) return level.depth > op.depth;
  // Depths from 255 on are all stored as 255: whatever lies inside is a child.
  return op.depth == 255 && op.start <= level.first_start && op.dur > Duration::zero();
}

inline bool SliceOrder::nests(const Op& op) const {
  const SessionTime end = op.start + op.dur;
  for (std::size_t i = open_; i-- > 0;) {
    const Level& level = levels_[i];
    if (end < level.last_end) return false;
    if (!is_below(level, op)) return op.start >= level.last_end;
    if (op.start > level.first_start) return false;
  }
  return true;
}

inline SliceOrder::Level& SliceOrder::open_level(const Op& op) {
  if (open_ == levels_.size()) levels_.emplace_back();
  Level& level = levels_[open_++];
  level.depth = op.depth;
  level.first_start = op.start;
  return level;
}

inline bool SliceOrder::has_followers(const Op& op) const {
  // Of the levels below, the first begins first.
  std::size_t first_below = open_;
  while (first_below > 0 && is_below(levels_[first_below - 1], op)) --first_below;
  return first_below < open_ && levels_[first_below].first_start == op.start;
}

inline bool SliceOrder::takes(const Op& op) const {
  return nests(op) && (held_ < kMaxTied || !has_followers(op));
}

template <typename Emit>
void SliceOrder::close_below(const Op& op, Emit& emit) {
  std::size_t first_below = open_;
  while (first_below > 0 && is_below(levels_[first_below - 1], op)) --first_below;
  for (std::size_t i = first_below; i < open_; ++i) {
    Level& level = levels_[i];
    if (level.first_start != op.start) {
      held_ -= level.held.size();
      for (const OpSlice& child : level.held) emit(child);
    } else if (followers_.empty()) {
      followers_.swap(level.held);
    } else {
      followers_.insert(followers_.end(), level.held.begin(), level.held.end());
    }
    level.held.clear();
  }
  open_ = first_below;
}

template <typename Emit>
void SliceOrder::add(const OpSlice& slice, Emit&& emit) {
  const Op& op = slice.op;
  close_below(op, emit);
  const bool has_siblings = open_ > 0 && levels_[open_ - 1].depth == op.depth;
  Level& level = has_siblings ? levels_[open_ - 1] : open_level(op);
  level.last_end = op.start + op.dur;
  const bool first = op.start == level.first_start;
  const bool may_wait = held_ < kMaxHeld || op.dur > Duration::zero();
  if (op.depth == 0 || !first || !may_wait) {
    emit(slice);
    for (const OpSlice& child : followers_) emit(child);
    held_ -= followers_.size();
  } else {
    // In front of what it contains, and behind the siblings (of zero length) that are waiting. Few
    // ops go through this more than once per depth.
    followers_.push_front(slice);
    if (level.held.empty()) {
      level.held.swap(followers_);
    } else {
      level.held.insert(level.held.end(), followers_.begin(), followers_.end());
    }
    ++held_;
  }
  followers_.clear();
}

template <typename Emit>
void SliceOrder::finish(Emit&& emit) {
  for (std::size_t i = 0; i < open_; ++i) {
    for (const OpSlice& slice : levels_[i].held) emit(slice);
    levels_[i].held.clear();
  }
  open_ = 0;
  held_ = 0;
}

inline OpSlice* SliceOrder::find_held(SessionTime start, std::int64_t sequence) {
  for (std::size_t i = 0; i < open_; ++i) {
    if (levels_[i].first_start != start) continue;
    for (OpSlice& slice : levels_[i].held) {
      if (slice.op.sequence == sequence) return &slice;
    }
  }
  return nullptr;
}

}  // namespace stepscope
