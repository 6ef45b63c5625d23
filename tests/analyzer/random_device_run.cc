#include "tests/analyzer/random_device_run.h"

#include <algorithm>

namespace stepscope::testing {
namespace {

constexpr std::size_t kLoop = 0, kAutograd = 1;

template <typename Intervals>
bool any_holds(const Intervals& intervals, std::int64_t t) {
  return std::any_of(intervals.begin(), intervals.end(), [t](const auto& i) { return i.holds(t); });
}

// The one that began last.
template <typename Interval>
const Interval* innermost(const std::vector<Interval>& intervals, std::int64_t t) {
  const Interval* found = nullptr;
  for (const Interval& interval : intervals) {
    if (interval.holds(t) && (found == nullptr || interval.start >= found->start))
      found = &interval;
  }
  return found;
}

}  // namespace

RandomDeviceRun::RandomDeviceRun(unsigned seed, DeviceRunShape shape)
    : random_(seed), shape_(shape), now_(shape.shift) {
  devices_ = pick(1, 2);
  threads_.resize(2);
  threads_[kLoop].id = builder_.thread("main");
  threads_[kAutograd].id = builder_.thread("autograd");
  work_.resize(static_cast<std::size_t>(devices_));
  busy_.resize(static_cast<std::size_t>(devices_));
  const auto steps = pick(2, 5);
  for (std::int64_t i = 0; i < steps; ++i) add_step();
  edges_.push_back(optimized_);  // the last step of a loader ends with what was marked in it
}

std::int64_t RandomDeviceRun::pick(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
}

void RandomDeviceRun::add_op(std::size_t thread, std::int64_t start, std::int64_t end) {
  const auto scope = thread == kAutograd ? OpScope::kBackwardFunction : OpScope::kFunction;
  const auto in = thread == kAutograd ? PhaseKind::kBackward : PhaseKind::kNone;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    builder_.op(threads_[thread].id, "aten::mm", from, to, scope, in);
    threads_[thread].ops.push_back({from, to, "aten::mm"});
  };
  if (!shape_.split_ops || end - start < 2) return add(start, end);
  add(start, (start + end) / 2);
  add((start + end) / 2, end);
}

// A stream works off what it is given, in order, no sooner than a little after the call.
void RandomDeviceRun::launch(std::size_t thread, std::int64_t called) {
  const auto device = static_cast<std::size_t>(pick(0, devices_ - 1));
  const std::int64_t stream = pick(0, 2);
  const std::int64_t kind = pick(0, 9);
  std::int64_t start = std::max(busy_[device][stream], called + pick(0, 12));
  while (!starts_.insert(start).second) ++start;
  const std::int64_t end = start + pick(1, 60);
  busy_[device][stream] = end;
  const StreamId id =
      builder_.stream(shape_.stream_numbers + stream, static_cast<std::int64_t>(device));
  const Activity activity{id, session_time(start), Duration(end - start), ++correlation_};
  std::string category = "compute";
  if (kind < 2) {
    category = "copy";
    builder_.copies.push_back({activity, CopyKind::kHostToDevice});
  } else if (kind < 3) {
    category = "copy";
    builder_.memsets.push_back({activity, 0});
  } else {
    if (kind < 5) category = "communication";
    builder_.kernel(id, kind < 5 ? "ncclDevKernel_AllReduce" : "gemm", start, end, correlation_);
  }
  Work work;
  work.start = start;
  work.end = end;
  work.what = category;
  work.thread = thread;
  work.called = called;
  work_[device].push_back(work);
}

void RandomDeviceRun::add_call(std::size_t thread, const std::string& name, std::int64_t start,
                               std::int64_t end, bool launches) {
  if (launches) launch(thread, start);
  builder_.call(threads_[thread].id, name, start, end, launches ? correlation_ : 0);
  threads_[thread].calls.push_back({start, end,
                                    name == "cudaStreamSynchronize" ? "sync"
                                    : name == "cudaMalloc"          ? "allocation"
                                                                    : "launch"});
}

// Ops with launches in them, calls outside ops, and pauses, from now_ on.
void RandomDeviceRun::add_work(std::size_t thread, std::int64_t until) {
  for (std::int64_t at = now_ + pick(0, 10); at + 12 < until;) {
    const std::int64_t end = std::min(until, at + pick(8, 40));
    const std::int64_t kind = pick(0, 9);
    if (kind < 7) {
      add_op(thread, at, end);
      if (pick(0, 3) > 0) {
        const std::int64_t call = at + pick(0, end - at - 4);
        add_call(thread, "cudaLaunchKernel", call, std::min(end, call + pick(1, 6)), true);
      }
    } else if (kind == 7) {
      add_call(thread, "cudaStreamSynchronize", at, end, false);
    } else if (kind == 8) {
      add_call(thread, "cudaMalloc", at, end, false);
    } else {
      builder_.op(threads_[thread].id, "log", at, end, OpScope::kUser);
      threads_[thread].labels.push_back({at, end, "log"});
    }
    at = end + pick(0, 20);
  }
}

void RandomDeviceRun::add_step() {
  const ThreadId loop = threads_[kLoop].id;
  edges_.push_back(now_);
  const std::int64_t waited = now_ + pick(1, 150);
  builder_.phase(loop, PhaseKind::kInput, now_, waited, 0, "train");
  inputs_.push_back({now_, waited, ""});
  if (pick(0, 1) == 0) add_work(kLoop, waited);  // a batch is moved to the device in the wait
  now_ = waited + pick(0, 5);

  const std::int64_t forward = now_ + pick(20, 200);
  add_work(kLoop, forward);
  if (pick(0, 2) == 0) {
    const std::int64_t from = now_ + pick(0, 10);
    builder_.phase(loop, PhaseKind::kScope, from, forward, 0, "metrics");
    scopes_.push_back({from, forward, "metrics"});
  }
  now_ = forward;
  const std::int64_t backward = now_ + pick(20, 200);
  builder_.phase(loop, PhaseKind::kBackward, now_, backward);
  backwards_.push_back({now_, backward, ""});
  add_work(kAutograd, backward);
  now_ = backward + pick(0, 20);
  const std::int64_t optimized = now_ + pick(10, 60);
  builder_.phase(loop, PhaseKind::kOptimizer, now_, optimized);
  add_work(kLoop, optimized);
  optimized_ = optimized;
  now_ = optimized + pick(0, 30);
}

RandomDeviceRun::State RandomDeviceRun::loop_state(std::int64_t t) const {
  const HostThread& loop = threads_[kLoop];
  if (any_holds(inputs_, t)) return {"input", ""};
  if (const Interval* call = innermost(loop.calls, t)) return {call->what, ""};
  if (any_holds(loop.ops, t)) return {"launch", ""};
  if (any_holds(backwards_, t) && any_holds(threads_[kAutograd].ops, t)) return {"launch", ""};
  if (const Interval* label = innermost(loop.labels, t)) return {"other", label->what};
  if (const Interval* scope = innermost(scopes_, t)) return {"other", scope->what};
  return {"host", ""};
}

RandomDeviceRun::State RandomDeviceRun::thread_state(std::size_t thread, std::int64_t t) const {
  if (thread == kLoop) return loop_state(t);
  const HostThread& own = threads_[thread];
  if (const Interval* call = innermost(own.calls, t)) return {call->what, ""};
  if (any_holds(own.ops, t)) return {"launch", ""};
  if (const Interval* label = innermost(own.labels, t)) return {"other", label->what};
  return loop_state(t);
}

RandomDeviceRun::State RandomDeviceRun::device_state(std::int64_t device, std::int64_t t,
                                                     Times& hidden) const {
  State busy;
  for (const char* category : {"compute", "communication", "copy"}) {
    const auto& work = work_[static_cast<std::size_t>(device)];
    const bool live = std::any_of(work.begin(), work.end(),
                                  [&](const Work& w) { return w.what == category && w.holds(t); });
    if (!live) continue;
    if (busy.first.empty()) {
      busy.first = category;
    } else {
      ++hidden[{category, ""}];
    }
  }
  if (!busy.first.empty()) return busy;
  const Work* next = nullptr;
  for (const Work& work : work_[static_cast<std::size_t>(device)]) {
    if (work.start > t && (next == nullptr || work.start < next->start)) next = &work;
  }
  if (next == nullptr) return loop_state(t);
  return t >= next->called ? State{"launch", ""} : thread_state(next->thread, t);
}

std::vector<RandomDeviceRun::Answer> RandomDeviceRun::expected(std::int64_t device) const {
  std::vector<Answer> steps;
  for (std::size_t i = 0; i + 1 < edges_.size(); ++i) {
    Answer& answer = steps.emplace_back();
    for (std::int64_t t = edges_[i]; t < edges_[i + 1]; ++t) {
      const State state = device_state(device, t, answer.hidden);
      ++answer.exposed[state];
      if (const State loop = loop_state(t); loop != state) ++answer.hidden[loop];
    }
  }
  return steps;
}

}  // namespace stepscope::testing
