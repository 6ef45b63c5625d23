// Stack samples as spans of time: each stands for the time from it to the next one of its thread.
//
// Threads are sampled at different rates, and sometimes not at all. So a sample stands for at most
// kMaxGaps times the usual gap (the median) between samples of its thread while it was, or was
// not, awaited. The time beyond that is unknown.
//
// Samples that C++ programs took themselves (docs/lines.md) are of single gaps between their ops,
// in few of their steps: each stands for kNativeSpan, so that all weigh the same, and none covers
// what came after.
//
// Thread safety: none. Memory: one sample per thread, and a small histogram of its gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "store/trace_reader.h"
#include "viewer-export/cut.h"

namespace stepscope {

struct StackSpan {
  WatchedThreadId thread = WatchedThreadId::kNone;
  FrameId frame = FrameId::kNone;  // the innermost
  TimeRange range;
  bool blocked = false;  // in a system call
};

class StackSpans {
 public:
  static constexpr int kMaxGaps = 4;
  static constexpr Duration kNativeSpan{200'000};
  // Viewers become slow beyond a million. With more samples, only every second, third, … of each
  // thread is used, and stands for a longer time.
  static constexpr std::int64_t kMaxSpans = 1'000'000;

  // Reads the samples once, for their gaps. Both must outlive the result.
  static Result<StackSpans> read(const TraceReader& reader, const Cut& cut,
                                 std::int64_t most = kMaxSpans);

  // The spans of one thread in the order of time, without overlaps; threads interleave.
  Status for_each(const std::function<void(const StackSpan&)>& visit) const;

  // The samples of each thread that has any.
  [[nodiscard]] const std::map<WatchedThreadId, std::int64_t>& samples() const { return samples_; }
  [[nodiscard]] std::int64_t total() const { return total_; }
  // 2: every second sample is used.
  [[nodiscard]] std::int64_t every() const { return every_; }
  // Left out: before the start of the recording, or not after the previous one of the thread.
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

 private:
  struct Gaps {
    struct Bucket {
      std::int64_t count = 0;
      Duration sum{0};
    };
    std::int64_t count = 0;
    std::map<int, Bucket> buckets;  // by the bits of the gap
    [[nodiscard]] Duration usual() const;
  };
  using GapsKey = std::pair<WatchedThreadId, bool>;  // whether it was awaited

  StackSpans(const TraceReader& reader, const Cut& cut) : reader_(reader), cut_(cut) {}
  Status for_each_sample(const std::function<void(const StackSample&)>& visit,
                         std::int64_t& skipped) const;
  // The usual time to the next sample that is used.
  [[nodiscard]] Duration usual(const StackSample& sample) const;

  const TraceReader& reader_;
  const Cut& cut_;
  std::map<WatchedThreadId, std::int64_t> samples_;
  std::map<GapsKey, Duration> usual_;
  std::int64_t total_ = 0;
  std::int64_t every_ = 1;
  std::int64_t skipped_ = 0;
  bool native_ = false;
};

}  // namespace stepscope
