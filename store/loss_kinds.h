// The kinds of loss (docs/schema.md) that are treated in a way of their own: some count processes
// instead of events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "store/events.h"

namespace stepscope {

// A process that came to the recorder and is not recorded at all.
inline constexpr const char* kUnrecordedProcess = "process";
// A process that continued after the program, and with it the recording, had ended.
inline constexpr const char* kOutlivingProcess = "outlived";

// Work of a device whose record was lost.
inline constexpr const char* kDeviceRecord = "device_record";

inline bool counts_events(const Loss& loss) {
  return loss.kind != kUnrecordedProcess && loss.kind != kOutlivingProcess;
}

// Neither events nor processes.
inline bool nothing_lost(const std::vector<Loss>& losses) {
  return std::all_of(losses.begin(), losses.end(),
                     [](const Loss& loss) { return loss.count == 0; });
}

inline std::int64_t lost_events(const std::vector<Loss>& losses) {
  std::int64_t sum = 0;
  for (const Loss& loss : losses) sum += counts_events(loss) ? loss.count : 0;
  return sum;
}

inline std::int64_t lost_of_devices(const std::vector<Loss>& losses) {
  std::int64_t sum = 0;
  for (const Loss& loss : losses) sum += loss.kind == kDeviceRecord ? loss.count : 0;
  return sum;
}

}  // namespace stepscope
