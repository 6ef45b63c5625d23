#include "analyzer/modules/find_modules.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/modules/module_tree.h"

namespace stepscope {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
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

// The autograd sequence numbers of a thread's latest ops, each with the module it was in. An op
// that makes a node has the node's number, and so may earlier ops: the last one to begin made it.
class Sequences {
 public:
  void note(std::int64_t sequence, SessionTime start, std::size_t module) {
    const auto at = static_cast<std::size_t>(sequence) % kKept;
    if (at >= entries_.size())
      entries_.resize(std::min(std::max(2 * at, std::size_t{1024}), kKept));
    Entry& entry = entries_[at];
    if (entry.sequence == sequence && entry.start > start) return;
    entry = {sequence, start, module};
  }
  [[nodiscard]] std::size_t module_of(std::int64_t sequence) const {
    const auto at = static_cast<std::size_t>(sequence) % kKept;
    return at < entries_.size() && entries_[at].sequence == sequence ? entries_[at].module : kNone;
  }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 20;
  struct Entry {
    std::int64_t sequence = -1;
    SessionTime start;
    std::size_t module = kNone;
  };
  std::vector<Entry> entries_;
};

class Finder {
 public:
  explicit Finder(const LoopReport& report) {
    for (const std::size_t i : report.op_steps)
      steps_.push_back({report.steps[i].start, report.steps[i].end()});
  }

  void add_thread(ThreadId thread, std::uint32_t torch_id, const std::vector<ModuleCall>& calls) {
    Thread& own = threads_[thread];
    if (torch_id != 0) by_torch_id_[torch_id] = thread;
    std::vector<std::size_t> open;
    for (const ModuleCall& call : calls) {
      while (!open.empty() && own.calls[open.back()].range.end <= call.start) open.pop_back();
      Call made;
      made.range = {call.start, call.start + call.dur};
      made.module = module_of({{call.root, call.name}, call.class_name});
      made.caller = open.empty() ? kNone : open.back();
      made.recomputed = call.phase == PhaseKind::kBackward;
      made.counts = made.module != kNone && in_steps(call.start);
      if (made.counts) count(call, made, own);
      open.push_back(own.calls.size());
      own.calls.push_back(made);
    }
  }

  // The ops of one thread must come in the order of their ends.
  void add(const Op& op) {
    const auto known = threads_.find(op.thread);
    if (known == threads_.end() || !in_steps(op.start)) return;
    Thread& thread = known->second;
    const bool is_node = op.scope == OpScope::kBackwardFunction;
    const std::size_t call = call_at(thread, op.start);
    const std::size_t module = call == kNone ? kNone : thread.calls[call].module;
    if (!is_node && op.sequence >= 0) thread.sequences.note(op.sequence, op.start, module);
    if (call != kNone && !thread.calls[call].recomputed) count_op(thread, call);
    ++ops_;
    const std::int64_t inside = take_ops_inside(thread, op);
    if (!is_node) return;
    nodes_.push_back({op.thread, op.start, op.dur, op.sequence, op.forward_thread, inside + 1});
    if (nodes_.size() > kMaxPending) resolve(nodes_.size() / 2);
  }

  // Call it after all ops. Returns what each module took in a mean step, in the order of their
  // first calls. `cost`: the cost of recording, in ns per step, which is subtracted.
  std::vector<ModuleTime> finish(double cost, const RecordedRun& recording) {
    resolve(nodes_.size());
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
  static constexpr std::size_t kMaxPending = std::size_t{1} << 17;
  static constexpr std::size_t kMaxResolved = 1024;
  static constexpr std::ptrdiff_t kMaxOpStarts = 1 << 16;

  struct Node {
    ThreadId thread;
    SessionTime start;
    Duration dur;
    std::int64_t sequence;
    std::uint32_t forward_thread;
    std::int64_t ops;
  };
  struct Thread {
    std::vector<Call> calls;
    Sequences sequences;
    std::vector<SessionTime> op_starts;  // of the latest ops that lie in no node so far
    std::vector<Node> resolved;          // the latest; some may lie in a node that has not come yet
    std::size_t last_node_module = kNone;
  };

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

  void count(const ModuleCall& call, const Call& made, const Thread& thread) {
    Sums& sums = sums_[made.module];
    ++sums.calls;
    if (made.recomputed) {
      ++sums.recomputed;
      return;
    }
    bool within_itself = false;
    ++counted_;
    for (std::size_t at = made.caller; at != kNone; at = thread.calls[at].caller) {
      const std::size_t around = thread.calls[at].module;
      if (around == kNone || thread.calls[at].recomputed) continue;
      within_itself = within_itself || around == made.module;
      if (is_new(around)) ++sums_[around].inner_calls;
    }
    sums.forward_self += call.dur;
    if (!within_itself) sums.forward += call.dur;
    if (made.caller != kNone && thread.calls[made.caller].counts) {
      Sums& caller = sums_[thread.calls[made.caller].module];
      caller.forward_self -= call.dur;
      ++caller.self_calls;
    }
    if (call.held_bytes) {
      ++sums.held_calls;
      sums.held_bytes += *call.held_bytes;
    }
  }

  void count_op(const Thread& thread, std::size_t call) {
    if (thread.calls[call].module != kNone) ++sums_[thread.calls[call].module].self_ops;
    ++counted_;
    for (std::size_t at = call; at != kNone; at = thread.calls[at].caller) {
      if (is_new(thread.calls[at].module)) ++sums_[thread.calls[at].module].forward_ops;
    }
  }

  // A module that calls itself is around an op several times, but counts it once. `counted_`
  // numbers what is being counted.
  bool is_new(std::size_t module) {
    return module != kNone && std::exchange(sums_[module].counted, counted_) != counted_;
  }

  // Returns how many ops lie in `op` if it is a node, and in no node inside it. Ops inside end
  // before it, so they are the latest.
  static std::int64_t take_ops_inside(Thread& thread, const Op& op) {
    std::vector<SessionTime>& starts = thread.op_starts;
    if (op.scope != OpScope::kBackwardFunction) {
      if (std::ssize(starts) >= kMaxOpStarts)
        starts.erase(starts.begin(), starts.begin() + kMaxOpStarts / 2);
      starts.push_back(op.start);
      return 0;
    }
    std::int64_t inside = 0;
    for (; !starts.empty() && starts.back() >= op.start; ++inside) starts.pop_back();
    return inside;
  }

  // The innermost call that is open at `time`.
  static std::size_t call_at(const Thread& thread, SessionTime time) {
    const auto after =
        std::upper_bound(thread.calls.begin(), thread.calls.end(), time,
                         [](SessionTime t, const Call& call) { return t < call.range.start; });
    std::size_t at = after == thread.calls.begin()
                         ? kNone
                         : static_cast<std::size_t>(after - thread.calls.begin()) - 1;
    while (at != kNone && thread.calls[at].range.end <= time) at = thread.calls[at].caller;
    return at;
  }

  // Resolves the first `count` nodes, whose forward ops have come by now.
  void resolve(std::size_t count) {
    for (; count > 0; --count) {
      const Node node = nodes_.front();
      nodes_.pop_front();
      resolve(threads_[node.thread], node);
    }
  }

  // Children come first. Nodes within a node, such as those of a recomputation, have their own
  // modules: their time does not count for the outer one.
  void resolve(Thread& thread, const Node& node) {
    Duration inside{0};
    while (!thread.resolved.empty() && thread.resolved.back().start >= node.start) {
      inside += thread.resolved.back().dur;
      thread.resolved.pop_back();
    }
    if (thread.resolved.size() >= kMaxResolved) thread.resolved.clear();
    thread.resolved.push_back(node);
    if (node.sequence >= 0) {
      const auto forward = by_torch_id_.find(node.forward_thread);
      thread.last_node_module = forward == by_torch_id_.end()
                                    ? kNone
                                    : threads_[forward->second].sequences.module_of(node.sequence);
    }
    // A node without a number handles the gradient of the node that ran before it.
    if (thread.last_node_module == kNone) return;
    Sums& sums = sums_[thread.last_node_module];
    sums.backward_self += std::max(node.dur - inside, Duration{0});
    sums.backward_ops += node.ops;
  }

  std::vector<TimeRange> steps_;
  std::map<Key, std::size_t> modules_;
  std::vector<NamedModule> named_;  // as sums_
  std::vector<Sums> sums_;
  std::int64_t ops_ = 0, counted_ = 0;
  std::map<ThreadId, Thread> threads_;
  std::map<std::uint32_t, ThreadId> by_torch_id_;
  std::deque<Node> nodes_;
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
