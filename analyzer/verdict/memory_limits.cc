#include "analyzer/verdict/memory_limits.h"

#include <algorithm>

#include "store/counters.h"

namespace stepscope {
namespace {

constexpr double kNear = 0.8;  // of a limit

std::optional<double> last_of(const Counters& counters, ProcessId process, const char* name) {
  const CounterSeries* series = counters.find(process, name);
  return series == nullptr ? std::nullopt : std::optional(series->last());
}

std::optional<double> largest_rise_of(const Counters& counters, ProcessId process,
                                      const char* name) {
  const CounterSeries* series = counters.find(process, name);
  if (series == nullptr) return std::nullopt;
  double rise = 0;
  std::optional<double> before;
  for (const auto& reading : series->within({SessionTime::min(), SessionTime::max()})) {
    if (before) rise = std::max(rise, reading.value - *before);
    before = reading.value;
  }
  return rise;
}

std::optional<double> most_of(const Counters& counters, ProcessId process, const char* name) {
  const CounterSeries* series = counters.find(process, name);
  if (series == nullptr) return std::nullopt;
  double most = series->last();
  for (const auto& reading : series->within({SessionTime::min(), SessionTime::max()}))
    most = std::max(most, reading.value);
  return most;
}

bool is_near(const std::optional<double>& bytes, const std::optional<double>& rise,
             const std::optional<double>& limit) {
  if (!bytes || !limit) return false;
  return *bytes >= kNear * *limit || *bytes + rise.value_or(0) >= *limit;
}

}  // namespace

bool MemoryLimits::reached() const {
  return is_near(held_bytes, held_rise, group_bytes) ||
         is_near(address_bytes, address_rise, address_limit);
}

MemoryLimits read_memory_limits(const Counters& counters, ProcessId process) {
  return {.group_bytes = last_of(counters, process, counter::kMemoryLimit),
          .held_bytes = most_of(counters, process, counter::kRss),
          .held_rise = largest_rise_of(counters, process, counter::kRss),
          .address_bytes = most_of(counters, process, counter::kAddressSpace),
          .address_rise = largest_rise_of(counters, process, counter::kAddressSpace),
          .address_limit = last_of(counters, process, counter::kAddressLimit),
          .available_bytes = last_of(counters, ProcessId::kNone, counter::kMemoryAvailable),
          .oom_score = last_of(counters, process, counter::kOomScore)};
}

}  // namespace stepscope
