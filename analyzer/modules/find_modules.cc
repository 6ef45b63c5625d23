#include "analyzer/modules/find_modules.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/modules/backward_modules.h"
#include "analyzer/modules/module_tree.h"

namespace stepscope {
namespace {

constexpr std::size_t kNone = BackwardModules::kNone;
// A model has a few hundred modules; a program that keeps making new names gets no more than this.
constexpr std::size_t kMaxModules = 8192;

// Root and name.
using Key = std::pair<StringId, StringId>;
struct NamedModule {
  Key key;
  StringId class_name = StringId::kNone;
};

struct Sums {
  std::int64_t calls = 0, recomputed = 0, held_calls = 0, held_bytes = 0;
  std::int64_t forward_ops = 0, backward_ops = 0;
  // In the forward pass: module calls at any depth inside its calls; its own ops; the module calls
  // that it makes directly.
  std::int64_t inner_calls = 0, self_ops = 0, self_calls = 0;
  std::int64_t counted = 0;  // see is_new()
  Duration forward{0}, forward_self{0}, backward_self{0};
};

// A call and its surroundings.
struct Call {
  TimeRange range;
  std::size_t module = kNone;
  std::size_t caller = kNone;  // index among the calls of the thread
  bool recomputed = false;
  bool counts = false;  // it began in one of the analysed steps
};

class Finder {
 public:
  explicit Finder(const LoopReport& report)
      : backward_([this](std::size_t module, Duration own, std::int64_t ops) {
          sums_[module].backward_self += own;
          sums_[module].backward_ops += ops;
        }) {
    for (const std::size_t i : report.op_steps)
      steps_.push_back({report.steps[i].start, report.steps[i].end()});
  }

  void add_thread(ThreadId thread, std::uint32_t torch_id, const std::vector<ModuleCall>& calls) {
    Calls& own = threads_[thread];
    backward_.add_thread(thread, torch_id);
    std::vector<std::size_t> open;
    for (const ModuleCall& call : calls) {
      while (!open.empty() && own[open.back()].range.end <= call.start) open.pop_back();
      Call made;
      made.range = {call.start, call.start + call.dur};
      made.module = module_of({{call.root, call.name}, call.class_name});
      made.caller = open.empty() ? kNone : open.back();
      made.recomputed = call.phase == PhaseKind::kBackward;
      made.counts = made.module != kNone && in_steps(call.start);
      if (made.counts) count(call, made, own);
      open.push_back(own.size());
      own.push_back(made);
    }
  }

  // The ops of one thread must come in the order of their ends.
  void add(const Op& op) {
    const auto known = threads_.find(op.thread);
    if (known == threads_.end() || !in_steps(op.start)) return;
    const Calls& calls = known->second;
    const std::size_t call = call_at(calls, op.start);
    if (call != kNone && !calls[call].recomputed) count_op(calls, call);
    ++ops_;
    backward_.add(op, call == kNone ? kNone : calls[call].module);
  }

  // Call it after all ops. Returns what each module took in a mean step, in the order of their
  // first calls. `cost`: the cost of recording, in ns per step, which is subtracted.
  std::vector<ModuleTime> finish(double cost, const RecordedRun& recording) {
    backward_.finish();
    std::int64_t calls = 0;
    for (const Sums& sums : sums_) calls += sums.calls;
    const auto steps = static_cast<double>(std::max<std::size_t>(steps_.size(), 1));
    const double weight =
        static_cast<double>(ops_) + kOpsPerModuleCall * static_cast<double>(calls);
    const double per_op = weight > 0 ? cost * steps / weight : 0;
    std::vector<ModuleTime> modules;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Sums& sums = sums_[i];
      if (sums.calls == 0 && sums.backward_self == Duration{0}) continue;
      const auto mean = [&](Duration time, std::int64_t ops, std::int64_t inner) {
        const double recording_ns =
            per_op * (static_cast<double>(ops) + kOpsPerModuleCall * static_cast<double>(inner));
        const double ns = static_cast<double>(to_ns(time)) - recording_ns;
        return Duration(std::llround(std::max(ns, 0.0) / steps));
      };
      ModuleTime& module = modules.emplace_back();
      module.root = recording.text(named_[i].key.first);
      module.name = recording.text(named_[i].key.second);
      module.class_name = recording.text(named_[i].class_name);
      module.steps = std::ssize(steps_);
      module.calls = static_cast<double>(sums.calls) / steps;
      module.recomputed = static_cast<double>(sums.recomputed) / steps;
      module.ops = static_cast<double>(sums.forward_ops) / steps;
      module.forward = mean(sums.forward, sums.forward_ops, sums.inner_calls);
      module.forward_self =
          std::min(module.forward, mean(sums.forward_self, sums.self_ops, sums.self_calls));
      module.backward_self = mean(sums.backward_self, sums.backward_ops, 0);
      module.backward = module.backward_self;  // until the tree is known
      if (sums.held_calls > 0)
        module.held_bytes = std::llround(static_cast<double>(sums.held_bytes) / steps);
    }
    return modules;
  }

 private:
  using Calls = std::vector<Call>;  // of a thread

  [[nodiscard]] bool in_steps(SessionTime at) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), at,
                         [](SessionTime t, const TimeRange& s) { return t < s.start; });
    return after != steps_.begin() && at < std::prev(after)->end;
  }

  std::size_t module_of(const NamedModule& module) {
    const auto known = modules_.find(module.key);
    if (known != modules_.end()) return known->second;
    if (modules_.size() >= kMaxModules) return kNone;
    sums_.emplace_back();
    named_.push_back(module);
    return modules_[module.key] = sums_.size() - 1;
  }

  void count(const ModuleCall& call, const Call& made, const Calls& calls) {
    Sums& sums = sums_[made.module];
    ++sums.calls;
    if (made.recomputed) {
      ++sums.recomputed;
      return;
    }
    bool within_itself = false;
    ++counted_;
    for (std::size_t at = made.caller; at != kNone; at = calls[at].caller) {
      const std::size_t around = calls[at].module;
      if (around == kNone || calls[at].recomputed) continue;
      within_itself = within_itself || around == made.module;
      if (is_new(around)) ++sums_[around].inner_calls;
    }
    sums.forward_self += call.dur;
    if (!within_itself) sums.forward += call.dur;
    if (made.caller != kNone && calls[made.caller].counts) {
      Sums& caller = sums_[calls[made.caller].module];
      caller.forward_self -= call.dur;
      ++caller.self_calls;
    }
    if (call.held_bytes) {
      ++sums.held_calls;
      sums.held_bytes += *call.held_bytes;
    }
  }

  void count_op(const Calls& calls, std::size_t call) {
    if (calls[call].module != kNone) ++sums_[calls[call].module].self_ops;
    ++counted_;
    for (std::size_t at = call; at != kNone; at = calls[at].caller) {
      if (is_new(calls[at].module)) ++sums_[calls[at].module].forward_ops;
    }
  }

  // A module that calls itself is around an op several times, but counts it once. `counted_`
  // numbers what is being counted.
  bool is_new(std::size_t module) {
    return module != kNone && std::exchange(sums_[module].counted, counted_) != counted_;
  }

  // The innermost call that is open at `time`.
  static std::size_t call_at(const Calls& calls, SessionTime time) {
    const auto after =
        std::upper_bound(calls.begin(), calls.end(), time,
                         [](SessionTime t, const Call& call) { return t < call.range.start; });
    std::size_t at =
        after == calls.begin() ? kNone : static_cast<std::size_t>(after - calls.begin()) - 1;
    while (at != kNone && calls[at].range.end <= time) at = calls[at].caller;
    return at;
  }

  std::vector<TimeRange> steps_;
  std::map<Key, std::size_t> modules_;
  std::vector<NamedModule> named_;  // as sums_
  std::vector<Sums> sums_;
  std::int64_t ops_ = 0, counted_ = 0;
  std::map<ThreadId, Calls> threads_;
  BackwardModules backward_;
};

}  // namespace

Result<ModuleHistory> ModuleHistory::read(const RecordedRun& recording) {
  ModuleHistory history;
  if (!recording.for_each_module_call) return history;
  std::size_t count = 0;
  const Status status = recording.for_each_module_call([&](const ModuleCall& call) {
    if (++count <= kMaxCalls) history.calls_[call.thread].push_back(call);
  });
  if (!status.ok()) return status;
  for (auto& [thread, calls] : history.calls_) {
    std::ranges::stable_sort(
        calls, {}, [](const ModuleCall& call) { return std::pair(call.start, call.depth); });
  }
  return history;
}

Status find_modules(const RecordedRun& recording, const std::vector<Loop>& loops,
                    const ModuleHistory& history, LoopReport& report) {
  if (history.empty() || report.op_steps.empty()) return {};
  const ThreadId own = report.steps.front().thread;
  std::set<ThreadId> of_others;
  for (const Loop& loop : loops) {
    if (loop.thread != own) of_others.insert(loop.thread);
  }
  Finder finder(report);
  bool any = false;
  for (const StoredThread& thread : recording.threads) {
    if (thread.process != report.process || of_others.contains(thread.id)) continue;
    static const std::vector<ModuleCall> kNoCalls;
    const auto calls = history.calls().find(thread.id);
    any = any || calls != history.calls().end();
    finder.add_thread(thread.id, thread.torch_id,
                      calls == history.calls().end() ? kNoCalls : calls->second);
  }
  if (!any) return {};
  const Status status = recording.for_each_op([&](const Op& op) {
    finder.add(op);
    return true;
  });
  if (!status.ok()) return status;
  const RecordingCost& cost = report.recording;
  report.modules = in_trees(finder.finish(cost.removed ? cost.ops.per_step_ns : 0, recording));
  for (ModuleTime& module : report.modules) module.thread = own;
  return {};
}

}  // namespace stepscope
