// A ring with memory of its own and its two ends, for tests.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "profiler/recorder/decoder.h"
#include "profiler/recorder/recorder_clock.h"
#include "profiler/ring/thread_recorder.h"

namespace stepscope {

class TestRing {
 public:
  explicit TestRing(std::uint32_t slots = 2 * kReservedForMarks)
      : memory_(new(std::align_val_t{64}) char[ring_bytes(slots)]()),
        header_(format_ring(memory_.get(), slots, 1, 2, "test")),
        recorder_(new ThreadRecorder(header_)) {}

  ThreadRecorder& recorder() { return *recorder_; }
  RingHeader* header() { return header_; }

  // One op with nothing inside.
  void op(const char* name, std::int64_t sequence = -1, OpScope scope = OpScope::kFunction) {
    recorder_->start_op({this, name, sequence, 0, scope});
    recorder_->end_op(this);
  }

 private:
  struct Free {
    void operator()(char* memory) const { operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<char, Free> memory_;
  RingHeader* header_;
  std::unique_ptr<ThreadRecorder> recorder_;
};

// Decodes what a TestRing holds; strings are numbered in the order they come.
class TestDecoder final : public DecodeContext {
 public:
  // Session time 0 is now.
  explicit TestDecoder(RingHeader* ring) : TestDecoder(ring, RecorderClock().map()) {}
  // Session time 0 is at `first`, and a tick is 1 ns.
  TestDecoder(RingHeader* ring, Ticks first)
      : TestDecoder(ring, ClockMap({first, 0}, {Ticks{to_count(first) + 1'000'000}, 1'000'000})) {}

  // Everything published so far.
  DecodedEvents decode() {
    DecodedEvents events;
    const RingConsumer::Batch batch = consumer_.published();
    std::vector<Slot> slots;
    consumer_.copy(batch, slots);
    decoder_.decode(slots, clock_, events);
    consumer_.release(batch.end);
    return events;
  }
  RingConsumer& consumer() { return consumer_; }
  RingDecoder& decoder() { return decoder_; }
  std::string text(StringId id) const {
    return id == StringId::kNone ? "" : texts_[static_cast<std::size_t>(id) - 1];
  }

 private:
  TestDecoder(RingHeader* ring, ClockMap clock)
      : consumer_(ring), decoder_(ThreadId{7}, *this), clock_(std::move(clock)) {}

  StringId intern(std::string_view text) override {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i] == text) return StringId{static_cast<std::uint32_t>(i + 1)};
    }
    texts_.emplace_back(text);
    return StringId{static_cast<std::uint32_t>(texts_.size())};
  }
  ThreadId thread_of_torch_id(std::uint32_t torch_id) override {
    return torch_id == 42 ? ThreadId{42} : ThreadId::kNone;
  }

  RingConsumer consumer_;
  RingDecoder decoder_;
  std::vector<std::string> texts_;
  ClockMap clock_;
};

}  // namespace stepscope
