#include "analyzer/simulate/device_tasks.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/attribute/device_work.h"

namespace stepscope {
namespace {

constexpr std::int64_t kQueued = 5'000;  // ns: a shorter pause between activities does not count
constexpr std::int64_t kMaxLatency = 200'000;  // ns: a longer delay is not launch latency
constexpr std::int64_t kClockSlack = 2'000;    // ns: clocks of host and device agree this well

// A piece of work that a call gave to a stream.
struct Given {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t bytes = 0;
  StreamId stream = StreamId::kNone;
  TaskKind kind = TaskKind::kKernel;
  Category category = Category::kCompute;
  bool pageable_to_device = false;
  bool pinned_to_device = false;
};

struct Call {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t correlation = 0;
  Lane lane = kLoopLane;
  CallClass kind = CallClass::kLaunch;
  std::vector<Given> given;  // usually one; more for the launch of a graph
};

// The calls of one loop in its sampled steps, and the work they gave to streams.
class LoopCalls {
 public:
  LoopCalls(const Loop& loop, const StepSample& sample, const RecordedRun& recording)
      : loop_(loop), sample_(sample), calls_(sample.steps.size()) {
    for (const StoredThread& thread : recording.threads) {
      if (thread.process == loop.process)
        lanes_[thread.id] = thread.id == loop.thread ? kLoopLane : kAutogradLane;
    }
  }

  void add_call(const ApiCall& call, CallClass kind) {
    const auto lane = lanes_.find(call.thread);
    const std::size_t step = lane == lanes_.end() ? sample_.steps.size() : step_at(call.start);
    if (step == sample_.steps.size()) return;
    if (call.correlation != 0)
      by_correlation_.try_emplace(call.correlation, step, calls_[step].size());
    calls_[step].push_back({to_ns(call.start),
                            to_ns(call.start + call.dur),
                            call.correlation,
                            lane->second,
                            kind,
                            {}});
  }

  void add_activity(const Activity& activity, Given given) {
    const auto place = by_correlation_.find(activity.correlation);
    if (activity.correlation == 0 || place == by_correlation_.end()) return;
    given.start = to_ns(activity.start);
    given.end = to_ns(activity.start + activity.dur);
    given.stream = activity.stream;
    calls_[place->second.first][place->second.second].given.push_back(given);
  }

  // The calls of one step, by start.
  std::vector<Call>& of_step(std::size_t position) {
    std::vector<Call>& calls = calls_[position];
    std::stable_sort(calls.begin(), calls.end(),
                     [](const Call& a, const Call& b) { return a.start < b.start; });
    for (Call& call : calls) {
      std::stable_sort(call.given.begin(), call.given.end(),
                       [](const Given& a, const Given& b) { return a.start < b.start; });
    }
    return calls;
  }

 private:
  // The position of the sampled step at `time`; the number of sampled steps if it lies in none.
  [[nodiscard]] std::size_t step_at(SessionTime time) const {
    const auto& steps = sample_.steps;
    const auto it =
        std::upper_bound(steps.begin(), steps.end(), time,
                         [](SessionTime t, const SampledStep& step) { return t < step.range.end; });
    const bool inside = it != steps.end() && it->range.start <= time;
    return inside ? static_cast<std::size_t>(it - steps.begin()) : steps.size();
  }

  const Loop& loop_;
  const StepSample& sample_;
  std::map<ThreadId, Lane> lanes_;
  std::vector<std::vector<Call>> calls_;  // by step
  std::unordered_map<std::int64_t, std::pair<std::size_t, std::size_t>> by_correlation_;
};

// Weaves the calls into the host's pieces of one sample, step by step.
class Weaver {
 public:
  explicit Weaver(StepSample& sample) : sample_(sample) {}

  void weave(SampledStep& step, const std::vector<Call>& calls) {
    calls_ = &calls;
    next_.fill(0);
    open_.fill(nullptr);
    out_.clear();
    for (const Task& task : step.tasks) {
      if (task.kind == TaskKind::kHost && task.lane < kFirstFreeLane) {
        cut(task);
      } else {
        out_.push_back(task);
      }
    }
    Task end;
    end.start_ns = to_ns(step.range.end);
    for (Lane lane = 0; lane < kFirstFreeLane; ++lane) {
      end.lane = lane;
      flush(lane, end.start_ns, end);
      if (open_[lane] != nullptr) finish(*open_[lane], end);
    }
    step.tasks = out_;
  }

 private:
  struct Stream {
    Lane lane = kNoLane;
    std::int64_t end = 0;  // of the work given to it last, as recorded
  };

  // The next call of a lane that begins before `end`; null: none.
  const Call* next_call(Lane lane, std::int64_t end) {
    std::size_t& at = next_[lane];
    while (at < calls_->size() && (*calls_)[at].lane != lane) ++at;
    if (at == calls_->size() || (*calls_)[at].start >= end) return nullptr;
    return &(*calls_)[at++];
  }

  // Cuts one piece of a thread: the parts within calls become the calls'.
  void cut(const Task& piece) {
    const Lane lane = piece.lane;
    const std::int64_t end = piece.start_ns + piece.dur_ns;
    flush(lane, piece.start_ns, piece);
    std::int64_t now = piece.start_ns;
    Lane awaits = piece.awaits;
    const auto emit = [&](std::int64_t to, const Call* in) {
      Task part = piece;
      part.start_ns = now;
      part.dur_ns = to - now;
      part.awaits = std::exchange(awaits, kNoLane);
      if (in != nullptr) {
        part.kind = TaskKind::kApi;
        part.category = category_of(*in, piece);
        if (waits(*in)) part.dur_ns = 0;  // it returns when the work it waits for is done
      }
      now = to;
      if (part.dur_ns > 0 || part.awaits != kNoLane) out_.push_back(part);
    };
    while (true) {
      if (open_[lane] != nullptr) {
        const Call& call = *open_[lane];
        emit(std::min(call.end, end), &call);
        if (call.end > end) return;
        finish(call, piece);
      }
      const Call* const call = next_call(lane, end);
      if (call == nullptr) break;
      emit(std::max(call->start, now), nullptr);
      give(*call, piece);
      open_[lane] = call;
    }
    emit(end, nullptr);
  }

  // Handles calls that began before `now` while their thread had no piece: only their work counts.
  void flush(Lane lane, std::int64_t now, const Task& at) {
    if (open_[lane] != nullptr && open_[lane]->end <= now) finish(*open_[lane], at);
    while (const Call* call = next_call(lane, now)) {
      give(*call, at);
      if (call->end > now) {
        open_[lane] = call;
        return;
      }
      finish(*call, at);
    }
  }

  static Category category_of(const Call& call, const Task& piece) {
    if (piece.category == Category::kInput) return Category::kInput;
    switch (call.kind) {
      case CallClass::kSync:
        return Category::kSync;
      case CallClass::kAllocation:
        return Category::kAllocation;
      case CallClass::kLaunch:
        break;
    }
    return Category::kLaunch;
  }

  // A call that copies from pageable memory returns when the last piece has left the host's memory,
  // some 15 us before the copy ends (H200).
  static bool waits_for(const Call& call, const Given& given) {
    if (given.kind != TaskKind::kCopy) return false;
    return given.end <= call.end + kClockSlack ||
           (given.pageable_to_device && given.start < call.end);
  }
  static bool waits_for_copy(const Call& call) {
    return std::any_of(call.given.begin(), call.given.end(),
                       [&](const Given& given) { return waits_for(call, given); });
  }
  static bool waits(const Call& call) {
    return call.kind == CallClass::kSync || waits_for_copy(call);
  }

  Stream& stream_of(StreamId id) {
    Stream& stream = streams_[id];
    if (stream.lane == kNoLane) {
      stream.lane = sample_.lanes++;
      sample_.streams.push_back(stream.lane);
    }
    return stream;
  }

  // The call hands its work to the streams.
  void give(const Call& call, const Task& piece) {
    for (const Given& given : call.given) {
      Stream& stream = stream_of(given.stream);
      Task task;
      task.start_ns = given.start;
      task.dur_ns = given.end - given.start;
      task.lane = stream.lane;
      task.awaits = call.lane;
      task.kind = given.kind;
      task.category = given.category;
      task.phase = piece.phase;
      task.path = piece.path;
      task.bytes = given.bytes;
      task.pageable_to_device = given.pageable_to_device;
      task.pinned_to_device = given.pinned_to_device;
      const std::int64_t latency = std::max<std::int64_t>(given.start - call.start, 0);
      const std::int64_t pause = given.start - stream.end;
      if (given.pageable_to_device && given.start < call.end) {
        // The call copies the first piece to memory that the device can read before it begins.
        const bool stream_was_busy = pause >= 0 && pause < latency;
        task.lag_ns = stream_was_busy ? std::min(latency - pause, kUsualLatency) : latency;
        if (stream_was_busy) task.dur_ns += pause;
      } else if (pause >= 0 && pause <= kQueued && latency > pause) {
        task.lag_ns = std::min(latency - pause, kUsualLatency);  // the stream was the limit
        task.dur_ns += pause;
      } else {
        task.lag_ns = latency <= kMaxLatency ? latency : kUsualLatency;
      }
      stream.end = std::max(stream.end, given.end);
      out_.push_back(task);
    }
  }

  // The call returns.
  void finish(const Call& call, const Task& piece) {
    open_[call.lane] = nullptr;
    if (!waits(call)) {
      after_pageable_[call.lane] = false;
      return;
    }
    // libtorch synchronises right after a copy from pageable memory, for the copy's sake.
    const bool copies = std::any_of(call.given.begin(), call.given.end(),
                                    [](const Given& given) { return given.pageable_to_device; });
    const bool for_pageable =
        copies || (call.kind == CallClass::kSync && after_pageable_[call.lane]);
    after_pageable_[call.lane] = copies;
    std::int64_t done = call.start;
    std::vector<Lane> awaited;
    const auto await = [&](const Stream& stream) {
      awaited.push_back(stream.lane);
      done = std::max(done, std::min(stream.end, call.end));
    };
    if (call.kind == CallClass::kSync) {
      for (const auto& [id, stream] : streams_) {
        if (stream.end <= call.end + kClockSlack) await(stream);  // else it was not waited for
      }
    } else {
      for (const Given& given : call.given) {
        if (waits_for(call, given)) await(stream_of(given.stream));
      }
    }
    awaited.push_back(kNoLane);
    for (const Lane lane : awaited) {
      Task wait = piece;
      wait.start_ns = call.end;
      wait.lane = call.lane;
      wait.kind = lane == kNoLane ? TaskKind::kApi : TaskKind::kWait;
      wait.awaits = lane;
      wait.category = category_of(call, piece);
      wait.dur_ns = lane == kNoLane ? call.end - done : 0;  // the call's own
      wait.synchronises = true;
      wait.pageable_to_device = for_pageable;
      out_.push_back(wait);
    }
  }

  StepSample& sample_;
  std::map<StreamId, Stream> streams_;
  const std::vector<Call>* calls_ = nullptr;
  std::array<std::size_t, kFirstFreeLane> next_{};
  std::array<const Call*, kFirstFreeLane> open_{};  // begun and not ended yet
  std::array<bool, kFirstFreeLane> after_pageable_{};
  std::vector<Task> out_;
};

template <typename Event, typename Visit>
Status for_each(const RecordedRun::Source<Event>& source, Visit visit) {
  return source ? source(visit) : Status();
}

Status read_events(const RecordedRun& recording, std::vector<LoopCalls>& loops) {
  std::unordered_map<StringId, CallClass> classes;
  Status status = for_each(recording.for_each_api_call, [&](const ApiCall& call) {
    const auto [known, added] = classes.try_emplace(call.name);
    if (added) known->second = call_class(recording.text(call.name));
    for (LoopCalls& loop : loops) loop.add_call(call, known->second);
  });
  std::unordered_map<StringId, Category> categories;
  if (status.ok()) {
    status = for_each(recording.for_each_kernel, [&](const Kernel& kernel) {
      const auto [known, added] = categories.try_emplace(kernel.name);
      if (added) known->second = kernel_category(recording.text(kernel.name));
      Given given;
      given.category = known->second;
      for (LoopCalls& loop : loops) loop.add_activity(kernel, given);
    });
  }
  if (status.ok()) {
    status = for_each(recording.for_each_copy, [&](const Copy& copy) {
      Given given;
      given.kind = TaskKind::kCopy;
      given.category = Category::kCopy;
      given.bytes = copy.bytes;
      const bool to_device = copy.kind == CopyKind::kHostToDevice;
      given.pageable_to_device = to_device && copy.source == MemoryKind::kPageable;
      given.pinned_to_device = to_device && copy.source == MemoryKind::kPinned;
      for (LoopCalls& loop : loops) loop.add_activity(copy, given);
    });
  }
  if (status.ok()) {
    status = for_each(recording.for_each_memset, [&](const Memset& memset) {
      Given given;
      given.kind = TaskKind::kMemset;
      given.category = Category::kCopy;
      for (LoopCalls& loop : loops) loop.add_activity(memset, given);
    });
  }
  return status;
}

}  // namespace

Status add_device_tasks(const RecordedRun& recording, const std::vector<Loop>& loops,
                        std::vector<StepSample>& samples) {
  if (recording.devices.empty()) return {};
  std::vector<LoopCalls> calls;
  for (std::size_t i = 0; i < loops.size(); ++i)
    calls.emplace_back(loops[i], samples[i], recording);
  if (Status status = read_events(recording, calls); !status.ok()) return status;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    Weaver weaver(samples[i]);
    for (std::size_t step = 0; step < samples[i].steps.size(); ++step)
      weaver.weave(samples[i].steps[step], calls[i].of_step(step));
  }
  return {};
}

}  // namespace stepscope
