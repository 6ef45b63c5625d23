// A training run with devices, made of random numbers, and what must be said of it: the answer is
// found nanosecond by nanosecond, straight from the definitions, by looking at everything each
// time. Nothing of the analyzer is used for it.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {

// Step structure, waits, copies, overlap, streams, devices and lateness all come from the seed.
struct DeviceRunShape {
  std::int64_t shift = 0;           // of all times
  std::int64_t stream_numbers = 7;  // of the first stream; the others follow
  bool split_ops = false;           // each op as two, one after the other
};

class RandomDeviceRun {
 public:
  explicit RandomDeviceRun(unsigned seed, DeviceRunShape shape = {});

  RecordingBuilder& builder() { return builder_; }
  [[nodiscard]] std::int64_t device_count() const { return devices_; }

  // By category and label, of one step, as a device saw it.
  using Times = std::map<std::pair<std::string, std::string>, std::int64_t>;
  struct Answer {
    Times exposed, hidden;
  };
  [[nodiscard]] std::vector<Answer> expected(std::int64_t device) const;

 private:
  struct Interval {
    std::int64_t start = 0, end = 0;
    std::string what;  // an op's name, a call's class, a category
    [[nodiscard]] bool holds(std::int64_t t) const { return start <= t && t < end; }
  };
  struct HostThread {
    ThreadId id = ThreadId::kNone;
    std::vector<Interval> ops, calls, labels;
  };
  struct Work : Interval {  // what: a category
    std::size_t thread = 0;
    std::int64_t called = 0;
  };
  using State = std::pair<std::string, std::string>;

  std::int64_t pick(std::int64_t low, std::int64_t high);
  void add_step();
  void add_work(std::size_t thread, std::int64_t until);
  void add_op(std::size_t thread, std::int64_t start, std::int64_t end);
  void add_call(std::size_t thread, const std::string& name, std::int64_t start, std::int64_t end,
                bool launches);
  void launch(std::size_t thread, std::int64_t called);

  [[nodiscard]] State loop_state(std::int64_t t) const;
  [[nodiscard]] State thread_state(std::size_t thread, std::int64_t t) const;
  [[nodiscard]] State device_state(std::int64_t device, std::int64_t t, Times& hidden) const;

  std::mt19937 random_;
  DeviceRunShape shape_;
  RecordingBuilder builder_;
  std::int64_t now_ = 0;
  std::int64_t optimized_ = 0;  // where the last optimizer step ended
  std::int64_t devices_ = 1;
  std::int64_t correlation_ = 0;
  std::vector<HostThread> threads_;                         // the loop's, the autograd thread
  std::vector<std::vector<Work>> work_;                     // of each device
  std::vector<std::map<std::int64_t, std::int64_t>> busy_;  // of each device: stream → its end
  std::set<std::int64_t> starts_;  // no two activities begin together: which delays is one answer
  std::vector<Interval> inputs_, backwards_, scopes_;
  std::vector<std::int64_t> edges_;  // of the steps
};

}  // namespace stepscope::testing
