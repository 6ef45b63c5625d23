// The counters of a run as series of readings: the value at any time, the change over any stretch.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/recording.h"

namespace stepscope {

// The readings of one counter, sorted by time. Memory is bounded: beyond kMaxReadings every second
// one is dropped (at ten per second, after 14 minutes); the first and the last are always kept.
class CounterSeries {
 public:
  struct Reading {
    SessionTime at;
    double value = 0;
  };
  static constexpr std::size_t kMaxReadings = 8192;

  void add(SessionTime at, std::int64_t value);

  // Linear between the readings; constant before the first and after the last.
  [[nodiscard]] double value_at(SessionTime time) const;
  [[nodiscard]] double change(TimeRange range) const {
    return value_at(range.end) - value_at(range.start);
  }
  // The readings within `range`, both ends included.
  [[nodiscard]] std::vector<Reading> within(TimeRange range) const;
  [[nodiscard]] double last() const { return last_.value; }
  [[nodiscard]] const Reading& first() const { return readings_.front(); }
  [[nodiscard]] const Reading& last_reading() const { return last_; }
  // The first of the readings with the greatest value, including dropped ones.
  [[nodiscard]] const Reading& peak() const { return peak_; }

 private:
  std::vector<Reading> readings_;  // never empty: a series begins with its first reading
  Reading last_;
  Reading peak_;
  std::size_t stride_ = 1;  // one in stride_ readings is kept
  std::size_t left_out_ = 0;
};

// When a process was stopped by a signal. If its recorder was stopped with it, as by Ctrl-Z, both
// are silent: nothing is read for kMinSilence or longer, and the process has used no CPU time
// meanwhile.
class Stops {
 public:
  static constexpr Duration kMinSilence = std::chrono::seconds{1};

  // The readings of one counter come by time; other counters do not matter.
  void add(std::string_view counter, SessionTime at, std::int64_t value);
  // Whether the process was seen to be stopped within `range`. After add(), call sort() first.
  [[nodiscard]] bool in(TimeRange range) const;
  void sort();

 private:
  std::vector<SessionTime> seen_;  // an instant within each stop, or many
  std::optional<CounterSeries::Reading> cpu_;
};

class Counters {
 public:
  void add(ProcessId process, std::string_view counter, SessionTime at, std::int64_t value,
           std::int64_t gpu = -1);
  // Null if there is none. `process`: kNone for a counter of the machine. `gpu`: Sample::gpu.
  [[nodiscard]] const CounterSeries* find(ProcessId process, std::string_view counter,
                                          std::int64_t gpu = -1) const;
  // Null: the process was never stopped, or not seen.
  [[nodiscard]] const Stops* stops(ProcessId process) const;
  // After all add().
  void sort();

 private:
  std::map<std::tuple<ProcessId, std::string, std::int64_t>, CounterSeries> series_;
  std::map<ProcessId, Stops> stops_;
};

// Fails only when reading the store fails.
Result<Counters> read_counters(const RecordedRun& recording);

}  // namespace stepscope
