// The session's clock as a recorder keeps it: started once, steered along CLOCK_MONOTONIC.
//
// Thread safety: none; one recorder's.
#pragma once

#include <cstdint>

#include "profiler/ring/clock.h"
#include "profiler/session/recorder_library.h"

namespace stepscope {

class RecorderClock {
 public:
  // Takes two milliseconds: the first rate is good to some 20 ppm after them.
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
