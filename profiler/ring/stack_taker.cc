#include "profiler/ring/stack_taker.h"

#include <algorithm>
#include <cstring>

#include "profiler/ring/stack_walk.h"

namespace stepscope {
namespace {

std::atomic<std::uint32_t> wanted_period{0};
std::atomic<std::uint8_t> wanted_rate{1};
std::atomic<std::uint64_t> wanted_since{0};

}  // namespace

void StackTaker::set_period(std::uint32_t period, std::uint8_t rate, Ticks since) {
  if (period != 0 && wanted_period.load(std::memory_order_relaxed) == 0)
    wanted_since.store(to_count(since), std::memory_order_relaxed);
  wanted_rate.store(rate, std::memory_order_relaxed);
  wanted_period.store(period, std::memory_order_release);
}

void StackTaker::restart() {
  due_ = wake_ = long_ = kNever;
  places_.fill({});
  longest_ = 0;
  long_places_ = 0;
  begin_at_ = 0;
}

void StackTaker::begin(Ticks now) {
  const std::uint32_t period = wanted_period.load(std::memory_order_acquire);
  if (period == 0) return;
  rate_ = std::max<std::uint8_t>(1, wanted_rate.load(std::memory_order_relaxed));
  period_ = std::max<std::uint32_t>(period / rate_, 4);
  long_ = period / 400;  // 50 µs
  begins_left_ = 1;
  last_ = to_count(now);
  due_ = last_;
  choose_next(last_);
}

// The moments are jittered, so that they do not fall into step with a regular loop.
void StackTaker::choose_next(std::uint64_t now) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  due_ += (now - due_) / period_ * period_ + period_;
  due_ += random_ % (period_ / 2);
  due_ = std::max(due_ - period_ / 4, now + 1);
  begins_left_ = std::min(begins_left_ + 1, kMaxBegins);
  constexpr std::uint32_t kChoicesOfPlace = 256;  // 5 s
  if (++choices_ % kChoicesOfPlace == 0) fade_places();
  set_wake();
}

void StackTaker::set_wake() { wake_ = due_ - std::min(due_, longest_); }

// A thread that loses its core has a long stretch at a place that usually has none, so places fade.
void StackTaker::fade_places() {
  long_places_ = 0;
  longest_ = 0;
  for (Place& place : places_) {
    place.ticks /= 2;
    if (place.ticks <= long_) place = {};
    longest_ = std::max(longest_, place.ticks);
    if (place.repeats) long_places_ |= std::uint64_t{1} << (place.place % 64);
  }
}

StackTaker::Place& StackTaker::known_place() {
  Place* shortest = nullptr;
  for (std::uint32_t i = 0; i < kWays; ++i) {
    Place& candidate = places_[(place_ + i) % kPlaces];
    if (candidate.place == place_) return candidate;
    if (shortest == nullptr || candidate.ticks < shortest->ticks) shortest = &candidate;
  }
  return *shortest;
}

// Keeps the length of most stretches at a place: a single long one, whose thread lost its core,
// says little.
void StackTaker::learn(std::uint64_t ticks) {
  Place& known = known_place();
  known.repeats = known.place == place_;
  if (!known.repeats) known = {place_, false, ticks};
  known.ticks = std::min(ticks, known.ticks + known.ticks / 4);
  if (known.repeats) long_places_ |= std::uint64_t{1} << (place_ % 64);
  if (known.ticks <= longest_) return;
  longest_ = known.ticks;
  set_wake();
}

Ticks StackTaker::end_stretch(Ticks now, bool wanted, RingProducer& ring) {
  const std::uint64_t count = to_count(now);
  if (count - last_ > long_) learn(count - last_);
  if (count < due_) return now;
  const bool on = wanted_period.load(std::memory_order_acquire) != 0 &&
                  last_ >= wanted_since.load(std::memory_order_relaxed);
  if (on && wanted) take(now, ring);
  choose_next(count);
  return on && wanted ? read_ticks() : now;
}

void StackTaker::begin_stretch() {
  Place& known = known_place();
  if (known.place != place_ || last_ + known.ticks < due_ || begins_left_ == 0) return;
  if (wanted_period.load(std::memory_order_acquire) == 0) return;
  known.ticks -= known.ticks / 16;  // until the next long one
  --begins_left_;
  begin_frames_ = walk_stack(begin_);
  begin_at_ = last_;
}

// A stack is dropped if the ring is almost full: the last slots are for names and marks.
void StackTaker::take(Ticks now, RingProducer& ring) const {
  std::array<std::uint64_t, kMaxStackFrames> end;  // NOLINT: read only as far as filled
  const std::uint32_t frames = walk_stack(end);
  const std::uint32_t begin_frames = begin_at_ == last_ ? begin_frames_ : 0;
  const std::uint32_t slots = stack_slots(frames, begin_frames);
  if (frames == 0 || !ring.has_room(slots, kReservedForMarks)) return;
  ring.slot(0).stack = {SlotKind::kStack,
                        static_cast<std::uint8_t>(frames),
                        static_cast<std::uint8_t>(begin_frames),
                        rate_,
                        place_,
                        last_,
                        to_count(now),
                        std::clamp(due_, last_, to_count(now))};
  constexpr std::uint32_t kEach = sizeof(Slot::addresses) / sizeof(std::uint64_t);
  for (std::uint32_t i = 0; i < frames + begin_frames; ++i) {
    ring.slot(1 + i / kEach).addresses[i % kEach] = i < frames ? end[i] : begin_[i - frames];
  }
  ring.publish(slots);
}

}  // namespace stepscope
