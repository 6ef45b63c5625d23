// The session's clock in a recorder: started once, then kept aligned with CLOCK_MONOTONIC.
//
// Thread safety: none; used by one recorder.
#pragma once

#include <cstdint>

#include "profiler/ring/clock.h"
#include "profiler/session/recorder_library.h"

namespace stepscope {

class RecorderClock {
 public:
  // Takes two milliseconds, after which the first rate is accurate to about 20 ppm.
  RecorderClock();

  [[nodiscard]] const ClockMap& map() const { return map_; }
  [[nodiscard]] SessionTime now() const { return map_.to_session(read_ticks()); }
  // Call often; recalibrates once a second.
  void steer();
  // Meta keys `clock`, `wall_start_unix_ns` and `monotonic_start_ns`.
  [[nodiscard]] Meta anchors() const;

 private:
  ClockMap map_;
  std::int64_t last_calibration_ns_;
};

}  // namespace stepscope
