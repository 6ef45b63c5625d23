#include "profiler/recorder/ring_backlog.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// The beginning of `batch`: at least `most` slots, if it has as many. A batch was published at
// once, so it ends with a whole event, and so does the part returned.
RingConsumer::Batch first_of(const RingConsumer& ring, RingConsumer::Batch batch,
                             std::uint64_t most) {
  if (batch.size() <= most) return batch;
  std::uint64_t end = batch.begin;
  while (end - batch.begin < most) end += slots_of(ring.slot(end));
  return {batch.begin, std::min(end, batch.end)};
}

}  // namespace

RingConsumer RingBacklog::consumer(std::uint32_t index) const {
  return {region_.ring(index), region_.layout.slot_count};
}

bool RingBacklog::in_use(std::uint32_t index) const {
  const RingHeader& header = *region_.ring(index);
  return header.state.load(std::memory_order_acquire) != RingState::kFree &&
         header.magic == kRingMagic && header.version == kRingVersion;
}

RingBacklog::Pieces& RingBacklog::pieces(std::uint32_t index) {
  if (rings_.size() <= index) rings_.resize(index + std::size_t{1});
  return rings_[index];
}

void RingBacklog::change_held(std::int64_t slots) {
  held_.fetch_add(static_cast<std::uint64_t>(slots), std::memory_order_relaxed);
}

void RingBacklog::move_to(std::vector<Slot>& slots, RingConsumer& ring, RingConsumer::Batch batch) {
  ring.copy(batch, slots);
  ring.release(batch.end);
}

std::uint64_t RingBacklog::collect(std::uint64_t most_slots) {
  const std::scoped_lock lock(mutex_);
  if (!region_) return 0;
  std::uint64_t fullest = 0;
  writer_count_ = 0;
  const std::uint32_t count = std::min(region_.header->ring_count.load(std::memory_order_acquire),
                                       region_.layout.ring_capacity);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!in_use(i)) continue;
    RingConsumer ring = consumer(i);
    const std::uint64_t published = ring.published().size();
    fullest = std::max(fullest, published);
    if (published > 0 && writer_count_ < kMaxWriters) {
      writers_[writer_count_++] = {region_.ring(i)->pid, region_.ring(i)->tid};
    }
    while (true) {
      const RingConsumer::Batch batch = first_of(ring, ring.published(), kMaxTaken);
      if (batch.size() == 0 || held() + batch.size() > most_slots) break;
      Pieces& waiting = pieces(i);
      if (waiting.empty() || waiting.back().size() + batch.size() > kMaxTaken) {
        waiting.push_back(std::exchange(spare_, {}));
      }
      move_to(waiting.back(), ring, batch);
      change_held(static_cast<std::int64_t>(batch.size()));
    }
  }
  return fullest;
}

std::vector<RingBacklog::Writer> RingBacklog::writers() {
  const std::scoped_lock lock(mutex_);
  return {writers_.begin(), writers_.begin() + writer_count_};
}

void RingBacklog::take(std::uint32_t index, std::vector<Slot>& slots) {
  const std::scoped_lock lock(mutex_);
  slots.clear();
  if (!region_) return;
  Pieces& waiting = pieces(index);
  // collect() leaves one that is empty if memory ran out before it could be filled.
  while (!waiting.empty() && waiting.front().empty()) waiting.pop_front();
  if (!waiting.empty()) {
    change_held(-static_cast<std::int64_t>(waiting.front().size()));
    slots.swap(waiting.front());
    if (spare_.capacity() == 0) spare_.swap(waiting.front());
    waiting.pop_front();
    return;
  }
  RingConsumer ring = consumer(index);
  move_to(slots, ring, first_of(ring, ring.published(), kMaxTaken));
}

std::uint64_t RingBacklog::size(std::uint32_t index) {
  const std::scoped_lock lock(mutex_);
  if (!region_) return 0;
  std::uint64_t sum = consumer(index).published().size();
  for (const std::vector<Slot>& piece : pieces(index)) sum += piece.size();
  return sum;
}

void RingBacklog::discard(std::uint32_t index) {
  const std::scoped_lock lock(mutex_);
  if (!region_) return;
  for (const std::vector<Slot>& piece : pieces(index)) {
    change_held(-static_cast<std::int64_t>(piece.size()));
  }
  pieces(index).clear();
  RingConsumer ring = consumer(index);
  ring.release(ring.published().end);
}

void RingBacklog::close() noexcept {
  const std::scoped_lock lock(mutex_);
  region_ = {};
  rings_.clear();
  spare_ = {};
  held_ = 0;
  closed_ = true;
}

}  // namespace stepscope
