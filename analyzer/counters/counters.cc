#include "analyzer/counters/counters.h"

#include <algorithm>
#include <iterator>

#include "store/counters.h"

namespace stepscope {

void CounterSeries::add(SessionTime at, std::int64_t value) {
  last_ = {at, static_cast<double>(value)};
  if (readings_.empty() || last_.value > peak_.value) peak_ = last_;
  if (!readings_.empty() && ++left_out_ < stride_) return;
  left_out_ = 0;
  readings_.push_back(last_);
  if (readings_.size() < kMaxReadings) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < readings_.size(); i += 2) readings_[kept++] = readings_[i];
  readings_.resize(kept);
  stride_ *= 2;
}

double CounterSeries::value_at(SessionTime time) const {
  if (readings_.empty() || time >= last_.at) return last_.value;
  const auto after = std::upper_bound(readings_.begin(), readings_.end(), time,
                                      [](SessionTime t, const Reading& r) { return t < r.at; });
  if (after == readings_.begin()) return readings_.front().value;
  const Reading& from = *std::prev(after);
  const Reading& to = after == readings_.end() ? last_ : *after;
  const double length = static_cast<double>(to_ns(to.at - from.at));
  if (length <= 0) return to.value;
  return from.value + (to.value - from.value) * static_cast<double>(to_ns(time - from.at)) / length;
}

std::vector<CounterSeries::Reading> CounterSeries::within(TimeRange range) const {
  std::vector<Reading> result;
  std::copy_if(readings_.begin(), readings_.end(), std::back_inserter(result),
               [range](const Reading& r) { return range.start <= r.at && r.at <= range.end; });
  return result;
}

void Stops::add(std::string_view counter, SessionTime at, std::int64_t value) {
  if (counter == counter::kStopped) seen_.push_back(at);
  if (counter != counter::kCpuUser) return;
  constexpr double kUsesNone = 0.01;  // of the time
  if (cpu_) {
    const Duration silence = at - cpu_->at;
    const double used = static_cast<double>(value) - cpu_->value;
    if (silence >= kMinSilence && used < kUsesNone * static_cast<double>(to_ns(silence)))
      seen_.push_back(cpu_->at + silence / 2);
  }
  cpu_ = {at, static_cast<double>(value)};
}

void Stops::sort() { std::sort(seen_.begin(), seen_.end()); }

bool Stops::in(TimeRange range) const {
  const auto first = std::lower_bound(seen_.begin(), seen_.end(), range.start);
  return first != seen_.end() && *first < range.end;
}

void Counters::add(ProcessId process, std::string_view counter, SessionTime at, std::int64_t value,
                   std::int64_t gpu) {
  series_[{process, std::string(counter), gpu}].add(at, value);
  stops_[process].add(counter, at, value);
}

void Counters::sort() {
  for (auto& [process, stops] : stops_) stops.sort();
}

const Stops* Counters::stops(ProcessId process) const {
  const auto known = stops_.find(process);
  return known == stops_.end() ? nullptr : &known->second;
}

const CounterSeries* Counters::find(ProcessId process, std::string_view counter,
                                    std::int64_t gpu) const {
  const auto it = series_.find({process, std::string(counter), gpu});
  return it == series_.end() ? nullptr : &it->second;
}

Result<Counters> read_counters(const RecordedRun& recording) {
  Counters counters;
  if (!recording.for_each_sample) return counters;
  const Status status = recording.for_each_sample([&](const Sample& sample) {
    counters.add(sample.process, recording.text(sample.counter), sample.at, sample.value,
                 sample.gpu);
    return true;
  });
  if (!status.ok()) return status;
  counters.sort();
  return counters;
}

}  // namespace stepscope
