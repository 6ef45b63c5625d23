#include "profiler/channel/clock_shift.h"

#include <cstdio>
#include <string>

#include "profiler/channel/channel_format.h"
#include "profiler/process/proc_text.h"

namespace stepscope {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// The line of the monotonic clock comes first.
std::string offsets_of(const std::string& process) {
  return read_proc_file("/proc/" + process + "/timens_offsets");
}

}  // namespace

ClockShift clock_shift(std::int64_t recorder_ns, std::int64_t program_ns,
                       std::int64_t between_namespaces_ns) {
  // The program's reading aged on its way here. One second more, since two clocks cannot be read at
  // the same moment.
  constexpr std::int64_t kMaxOnTheWay = (kRecorderPatienceSeconds + 1) * kSecondNs;
  std::int64_t seen = 0;
  std::int64_t unexplained = 0;
  if (__builtin_sub_overflow(recorder_ns, program_ns, &seen) ||
      __builtin_sub_overflow(seen, between_namespaces_ns, &unexplained)) {
    return {0, false};
  }
  const bool agree = unexplained > -kSecondNs && unexplained < kMaxOnTheWay;
  return agree ? ClockShift{between_namespaces_ns, true} : ClockShift{seen, false};
}

std::int64_t namespace_shift_ns(pid_t pid) {
  // Both the program's clock and ours are the machine's clock plus an offset.
  return monotonic_offset_ns(offsets_of("self")) -
         monotonic_offset_ns(offsets_of(std::to_string(pid)));
}

std::int64_t monotonic_offset_ns(std::string_view text) {
  long long seconds = 0;
  long long ns = 0;
  const std::string line(text);
  if (std::sscanf(line.c_str(), "monotonic %lld %lld", &seconds, &ns) != 2) return 0;
  std::int64_t whole = 0;
  if (__builtin_mul_overflow(seconds, kSecondNs, &whole)) return 0;
  return whole + ns;
}

}  // namespace stepscope
