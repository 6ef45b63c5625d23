// The samples of a run as series: a value at any time, a change over any stretch.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/recording.h"

namespace stepscope {

// The readings of one counter, in order of time. Memory is bounded: beyond kMostReadings every
// second one is left out (at ten a second, after 14 minutes); the first and the last always stay.
class CounterSeries {
 public:
  struct Reading {
    SessionTime at;
    double value = 0;
  };
  static constexpr std::size_t kMostReadings = 8192;

  void add(SessionTime at, std::int64_t value);

  // Straight lines between the readings; before the first and after the last nothing changes.
  [[nodiscard]] double value_at(SessionTime time) const;
  [[nodiscard]] double change(TimeRange range) const {
    return value_at(range.end) - value_at(range.start);
  }
  // The readings within `range`, both ends included.
  [[nodiscard]] std::vector<Reading> within(TimeRange range) const;
  [[nodiscard]] double last() const { return last_.value; }
  [[nodiscard]] const Reading& first() const { return readings_.front(); }
  [[nodiscard]] const Reading& last_reading() const { return last_; }
  // The first of those with the greatest value; none is left out here.
  [[nodiscard]] const Reading& peak() const { return peak_; }

 private:
  std::vector<Reading> readings_;  // never empty: a series begins with its first reading
  Reading last_;
  Reading peak_;
  std::size_t stride_ = 1;  // one in so many is kept
  std::size_t left_out_ = 0;
};

class Counters {
 public:
  void add(ProcessId process, std::string_view counter, SessionTime at, std::int64_t value,
           std::int64_t gpu = -1);
  // Null when there is none. `process`: kNone for a counter of the machine. `gpu`: Sample::gpu.
  [[nodiscard]] const CounterSeries* find(ProcessId process, std::string_view counter,
                                          std::int64_t gpu = -1) const;

 private:
  std::map<std::tuple<ProcessId, std::string, std::int64_t>, CounterSeries> series_;
};

// Fails only when reading the samples fails.
Result<Counters> read_counters(const RecordedRun& recording);

}  // namespace stepscope
