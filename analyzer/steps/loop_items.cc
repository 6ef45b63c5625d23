#include "analyzer/steps/loop_items.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// String ids are small; labels and phases get ranges of their own.
constexpr std::uint32_t kLabelKeys = 1U << 30;
constexpr std::uint32_t kPhaseKeys = 1U << 31;

ItemKey op_key(StringId name) { return static_cast<ItemKey>(name); }
ItemKey label_key(StringId name) {
  return static_cast<ItemKey>(kLabelKeys | static_cast<std::uint32_t>(name));
}
ItemKey phase_key(PhaseKind kind) {
  return static_cast<ItemKey>(kPhaseKeys | static_cast<std::uint32_t>(kind));
}

SessionTime end_of(const Phase& phase) { return phase.start + phase.dur; }

}  // namespace

LoopItems::LoopItems(const std::vector<Phase>& phases, Sink sink, std::size_t window)
    : sink_(std::move(sink)), window_(std::max<std::size_t>(window, 2)) {
  for (const Phase& phase : phases) {
    if (phase.kind == PhaseKind::kScope) {
      labels_.push_back({{phase.start, end_of(phase)}, label_key(phase.name)});
    } else {
      phases_.push_back(phase);
    }
  }
  std::stable_sort(phases_.begin(), phases_.end(), [](const Phase& a, const Phase& b) {
    return end_of(a) != end_of(b) ? end_of(a) < end_of(b) : a.start > b.start;
  });
}

void LoopItems::add(const Op& op, OpClass kind, bool fills) {
  const TimeRange range{op.start, op.start + op.dur};
  add_phases_until(range.end);
  if (kind == OpClass::kTransparent) return;
  if (kind == OpClass::kLabel) {
    labels_.push_back({range, label_key(op.name)});
  } else {
    LoopItem item;
    item.key = op_key(op.name);
    item.is_call = op.scope == OpScope::kTorchScript;
    item.fills = fills;
    add_work(range, item);
  }
  if (work_.size() > window_) hand_out(window_ / 2);
}

// A phase is added after the ops in it.
void LoopItems::add_phases_until(SessionTime end) {
  for (; next_phase_ < phases_.size() && end_of(phases_[next_phase_]) < end; ++next_phase_) {
    const Phase& phase = phases_[next_phase_];
    LoopItem item;
    item.key = phase_key(phase.kind);
    add_work({phase.start, end_of(phase)}, item);
  }
}

void LoopItems::add_work(TimeRange range, LoopItem item) {
  while (!work_.empty() && work_.back().start >= range.start) work_.pop_back();
  item.start = range.start;
  item.end = range.end;
  work_.push_back(item);
}

void LoopItems::finish() {
  add_phases_until(SessionTime::max());
  hand_out(work_.size());
}

void LoopItems::hand_out(std::size_t count) {
  const SessionTime until = count < work_.size() ? work_[count].start : SessionTime::max();
  const auto last = work_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<LoopItem> items(work_.begin(), last);
  work_.erase(work_.begin(), last);

  const auto later = std::partition(labels_.begin(), labels_.end(),
                                    [until](const Label& l) { return l.range.start >= until; });
  std::sort(later, labels_.end(),
            [](const Label& a, const Label& b) { return a.range.end < b.range.end; });
  std::vector<SessionTime> label_ends;
  for (auto label = later; label != labels_.end(); ++label) {
    label_ends.push_back(label->range.end);
    if (label->range.start >= handed_out_)
      items.push_back({label->range.start, label->range.start, Duration(0), label->key, true});
  }
  labels_.erase(later, labels_.end());
  for (const SessionTime end : label_ends) open_labels_.push(end);

  // A scope comes before an item that begins with it.
  std::stable_sort(items.begin(), items.end(), [](const LoopItem& a, const LoopItem& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.is_call && !b.is_call;
  });
  for (LoopItem& item : items) {
    for (; !open_labels_.empty() && open_labels_.top() <= item.start; open_labels_.pop())
      covered_ = std::max(covered_, open_labels_.top());
    if (covered_ != SessionTime::min() && covered_ < item.start) item.gap = item.start - covered_;
    covered_ = std::max(covered_, item.end);
  }
  handed_out_ = until;
  if (!items.empty()) sink_(std::move(items));
}

}  // namespace stepscope
