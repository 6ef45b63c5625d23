// The difference between a program's CLOCK_MONOTONIC and the recorder's. Usually they are the same
// clock. A time namespace (`unshare --time`, some containers) shifts it by a constant, and a
// library that fakes time (libfaketime) can change it arbitrarily.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace stepscope {

struct ClockShift {
  std::int64_t ns = 0;  // the recorder's clock minus the program's
  bool exact = true;    // false: guessed from one reading; the program's clock may run at any rate
};

// Computes the shift from a reading of each clock, the program's at most kRecorderPatienceSeconds
// older than the recorder's, and from the shift between their time namespaces according to the
// kernel. The latter is exact if the readings agree with it.
ClockShift clock_shift(std::int64_t recorder_ns, std::int64_t program_ns,
                       std::int64_t between_namespaces_ns);

// Our CLOCK_MONOTONIC minus that of process `pid`, according to their time namespaces. 0 if the
// kernel has none (before Linux 5.6).
std::int64_t namespace_shift_ns(pid_t pid);

// The offset of CLOCK_MONOTONIC in the text of a /proc/PID/timens_offsets; 0 if it has none.
std::int64_t monotonic_offset_ns(std::string_view text);

}  // namespace stepscope
