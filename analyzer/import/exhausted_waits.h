// The waits that found a loader without a further batch. A trace names them like any other wait.
//
// Such a wait is followed by no op of its thread before the next wait begins, which is that of the
// next epoch, and there is a pause between the two. Between a batch and the next wait, the thread
// works with the batch.
//
// Thread safety: none. Memory: a time for each such wait.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

#include "store/events.h"
#include "store/time.h"

namespace stepscope {

class ExhaustedWaits {
 public:
  // Shorter pauses count as part of a step: a program may skip a batch.
  static constexpr Duration kShortestPause{1'000'000};

  // All ops, in the order of their starts.
  void begin(const Op& op);
  // Whether the wait that began then was one; after all ops.
  [[nodiscard]] bool contains(ThreadId thread, SessionTime start) const;

 private:
  struct Waits {
    SessionTime start, end;  // of the last one
    bool followed = true;    // by an op outside it
    std::int64_t count = 0;
    std::set<SessionTime> exhausted;
  };

  std::unordered_map<ThreadId, Waits> threads_;
};

}  // namespace stepscope
