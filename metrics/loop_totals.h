// Counters of the training loops of a run, summed up from the frames of the live view.
//
// A frame says how long the latest steps took and how each of them spent its time. The time of the
// steps that ended since the last frame is added to the counters as these steps spent it, so the
// attribution is the live view's own, and the categories always sum to the step time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "analyzer/live/live_run.h"

namespace stepscope {

inline constexpr std::array<const char*, 5> kPhaseNames = {"input", "forward", "backward",
                                                           "optimizer", "other"};

struct LoopTotals {
  std::int64_t steps = 0;
  double step_s = 0;
  std::array<double, kCategoryCount> category_s{};
  std::array<double, kPhaseNames.size()> phase_s{};
};

// A loop's thread, and the device that its figures describe.
using LoopKey = std::pair<ThreadId, DeviceId>;
inline LoopKey key_of(const LoopReport& loop, const LiveLoop& live) {
  return {live.thread, loop.device};
}

// Thread safety: none.
class LoopTotalsTable {
 public:
  // Loops beyond this many begin at 0 when they are seen again.
  static constexpr std::size_t kMax = 1024;

  void add(const LiveFrame& frame);
  // Zeros for a loop that was not seen.
  [[nodiscard]] LoopTotals of(const LoopKey& key) const;

 private:
  struct Entry {
    LoopTotals totals;
    SessionTime until;       // the end of the last step that was counted
    std::int64_t frame = 0;  // the last one that had the loop
  };
  static void add_steps(Entry& entry, const LoopReport& loop, const LiveLoop& live);
  void drop_oldest();

  std::map<LoopKey, Entry> entries_;
  std::int64_t frames_ = 0;
};

}  // namespace stepscope
