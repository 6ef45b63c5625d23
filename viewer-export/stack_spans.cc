#include "viewer-export/stack_spans.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

namespace stepscope {
namespace {

// For a thread with one sample: the gap at the sampler's usual rate (`run --lines-rate`).
constexpr Duration kUnknownGap{4'000'000};
// A sampler that comes less often says nothing about the time in between.
constexpr Duration kLongestGap{10'000'000'000};

StackSpan span_of(const StackSample& sample, Duration length) {
  const bool blocked = sample.blocked != StringId::kNone;
  return {sample.thread, sample.frame, {sample.at, sample.at + length}, blocked};
}

}  // namespace

// The mean of the gaps that are about as long as the median.
Duration StackSpans::Gaps::usual() const {
  std::int64_t seen = 0;
  for (const auto& [bits, bucket] : buckets) {
    seen += bucket.count;
    if (2 * seen >= count) return std::min(bucket.sum / bucket.count, kLongestGap);
  }
  return kUnknownGap;
}

// Calls `visit` for the samples that come in the order of time.
Status StackSpans::for_each_sample(const std::function<void(const StackSample&)>& visit,
                                   std::int64_t& skipped) const {
  std::unordered_map<WatchedThreadId, SessionTime> last;
  return reader_.for_each_stack_sample([&](const StackSample& sample) {
    if (!cut_.has(sample.at)) return;
    const auto [previous, is_first] = last.try_emplace(sample.thread, sample.at);
    if (to_ns(sample.at) < 0 || (!is_first && sample.at <= previous->second)) {
      ++skipped;
      return;
    }
    previous->second = sample.at;
    visit(sample);
  });
}

Result<StackSpans> StackSpans::read(const TraceReader& reader, const Cut& cut, std::int64_t most) {
  StackSpans spans(reader, cut);
  spans.native_ = reader.meta_int("lines_native", 0) > 0;
  std::map<GapsKey, Gaps> gaps;
  std::unordered_map<WatchedThreadId, StackSample> last;
  const auto visit = [&](const StackSample& sample) {
    ++spans.total_;
    ++spans.samples_[sample.thread];
    const auto [previous, is_first] = last.try_emplace(sample.thread, sample);
    if (is_first) return;
    const Duration gap = sample.at - previous->second.at;
    Gaps& of_thread = gaps[{sample.thread, previous->second.awaited}];
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(to_ns(gap))));
    Gaps::Bucket& bucket = of_thread.buckets[bits];
    ++of_thread.count;
    ++bucket.count;
    bucket.sum += gap;
    previous->second = sample;
  };
  if (Status status = spans.for_each_sample(visit, spans.skipped_); !status.ok()) return status;
  for (const auto& [key, of_thread] : gaps) spans.usual_[key] = of_thread.usual();
  spans.every_ = std::max<std::int64_t>(1, (spans.total_ + most - 1) / most);
  return spans;
}

Duration StackSpans::usual(const StackSample& sample) const {
  if (native_) return kNativeSpan;
  const auto known = usual_.find({sample.thread, sample.awaited});
  return every_ * (known != usual_.end() ? known->second : kUnknownGap);
}

Status StackSpans::for_each(const std::function<void(const StackSpan&)>& visit) const {
  struct State {
    std::int64_t seen = 0;
    StackSample last;  // of those used
  };
  std::map<WatchedThreadId, State> threads;
  std::int64_t skipped = 0;
  const Status status = for_each_sample(
      [&](const StackSample& sample) {
        State& state = threads[sample.thread];
        if (state.seen++ % every_ != 0) return;
        const StackSample last = std::exchange(state.last, sample);
        if (last.thread == WatchedThreadId::kNone) return;
        const Duration longest = (native_ ? 1 : kMaxGaps) * usual(last);
        visit(span_of(last, std::min(sample.at - last.at, longest)));
      },
      skipped);
  if (!status.ok()) return status;
  for (const auto& [thread, state] : threads) visit(span_of(state.last, usual(state.last)));
  return {};
}

}  // namespace stepscope
