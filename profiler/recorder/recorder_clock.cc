#include "profiler/recorder/recorder_clock.h"

#include <chrono>
#include <string>
#include <thread>

namespace stepscope {
namespace {

constexpr std::chrono::milliseconds kFirstCalibration{2};
constexpr std::int64_t kCalibrationPeriodNs = 1'000'000'000;

ClockMap start_clock() {
  const ClockReading first = read_clocks();
  std::this_thread::sleep_for(kFirstCalibration);
  return {first, read_clocks()};
}

}  // namespace

RecorderClock::RecorderClock()
    : map_(start_clock()), last_calibration_ns_(read_clock_ns(CLOCK_MONOTONIC)) {}

void RecorderClock::steer() {
  const ClockReading now = read_clocks();
  if (now.monotonic_ns - last_calibration_ns_ < kCalibrationPeriodNs) return;
  map_.recalibrate(now);
  last_calibration_ns_ = now.monotonic_ns;
}

Meta RecorderClock::anchors() const {
  const std::int64_t wall_offset = read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_MONOTONIC);
  const std::int64_t start = map_.monotonic_start_ns();
  return {{"clock", tick_clock_name()},
          {"wall_start_unix_ns", std::to_string(start + wall_offset)},
          {"monotonic_start_ns", std::to_string(start)}};
}

}  // namespace stepscope
