// How far a program's CLOCK_MONOTONIC is from the recorder's. As a rule it is the same clock; a
// time namespace (`unshare --time`, some containers) shifts it by a constant, and a library that
// fakes time (libfaketime) can change it arbitrarily.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace stepscope {

struct ClockShift {
  std::int64_t ns = 0;  // the recorder's clock minus the program's
  bool exact = true;    // false: guessed from one reading; the program's clock may run at any rate
};

// From a reading of the program's clock, taken at most kRecorderPatienceSeconds before that of the
// recorder's; and from what the kernel says of their namespaces, which is exact where the readings
// agree with it.
ClockShift clock_shift(std::int64_t recorder_ns, std::int64_t program_ns,
                       std::int64_t between_namespaces_ns);

// Our CLOCK_MONOTONIC minus that of process `pid`, according to their time namespaces. 0 where the
// kernel has none (before Linux 5.6).
std::int64_t namespace_shift_ns(pid_t pid);

// The offset of CLOCK_MONOTONIC in a /proc/PID/timens_offsets; 0 where `text` has none.
std::int64_t monotonic_offset_ns(std::string_view text);

}  // namespace stepscope
