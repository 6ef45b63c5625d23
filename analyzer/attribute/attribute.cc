#include "analyzer/attribute/attribute.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "analyzer/attribute/loop_sweeper.h"

namespace stepscope {
namespace {

constexpr std::int64_t kProgressEvery = 1 << 16;

// A windowed recording has the ops of its window only; in any other the ops are all there or not at
// all.
bool ops_recorded(const RecordedRun& recording, bool has_ops) {
  return recording.facts.windowed ? has_ops : recording.op_count > 0;
}

struct Router {
  std::vector<std::unique_ptr<LoopSweeper>> sweepers;
  std::map<ThreadId, std::vector<LoopSweeper*>>
      by_thread;  // which loops an op of a thread may concern
  std::map<ThreadId, LoopSweeper*> own;
};

// A loop's own thread, and those of its process that have no loop of their own.
std::set<ThreadId> threads_for(const Loop& loop, const RecordedRun& recording,
                               const std::vector<Loop>& loops) {
  std::set<ThreadId> threads{loop.thread};
  for (const StoredThread& thread : recording.threads) {
    const bool leads = std::any_of(loops.begin(), loops.end(),
                                   [&](const Loop& other) { return other.thread == thread.id; });
    if (thread.process == loop.process && !leads) threads.insert(thread.id);
  }
  return threads;
}

Router make_router(const RecordedRun& recording, const std::vector<Loop>& loops,
                   const RoleOfStep& role, const AttributeOptions& options) {
  Router router;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    LoopSweeper::Config config;
    config.launch_overhead = recording.facts.leaf_op_overhead;
    config.ops_recorded = [&recording](bool has_ops) { return ops_recorded(recording, has_ops); };
    config.op_series = options.op_series;
    if (options.devices != nullptr) {
      config.devices.emplace(*options.devices, loops[i].thread,
                             threads_for(loops[i], recording, loops));
    }
    if (options.observer) config.observer = options.observer(i);
    config.role = [&role, i](std::size_t step) { return role(i, step); };
    router.sweepers.push_back(
        std::make_unique<LoopSweeper>(loops[i], phases_of(recording, loops[i]), config));
    router.own[loops[i].thread] = router.sweepers.back().get();
  }
  for (const StoredThread& thread : recording.threads) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (thread.process == loops[i].process)
        router.by_thread[thread.id].push_back(router.sweepers[i].get());
    }
  }
  return router;
}

}  // namespace

Result<std::vector<AttributedLoop>> attribute(const RecordedRun& recording,
                                              const std::vector<Loop>& loops,
                                              const RoleOfStep& role,
                                              const AttributeOptions& options) {
  Router router = make_router(recording, loops, role, options);
  OpClasses classes(recording.text);
  const std::size_t window = options.reorder_window / std::max<std::size_t>(loops.size(), 1);
  std::int64_t seen = 0;
  const auto feed = [&](LoopSweeper& sweeper, const Op& op, OpClass kind) {
    sweeper.add(op, kind);
    if (sweeper.buffered() > window) sweeper.shrink(window / 2);
  };
  const Status read = recording.for_each_op([&](const Op& op) {
    if (++seen % kProgressEvery == 0 && options.progress) options.progress(seen);
    const OpClass kind = classes.of(op);
    if (options.on_op) options.on_op(op, seen, kind);
    const auto own = router.own.find(op.thread);
    if (own != router.own.end()) {
      feed(*own->second, op, kind);
      return true;
    }
    const bool helps = is_backward(op) || kind == OpClass::kCommunication;
    for (LoopSweeper* sweeper : router.by_thread[op.thread]) {
      if (helps || sweeper->watches(op.thread)) feed(*sweeper, op, kind);
    }
    return true;
  });
  if (!read.ok()) return read;

  std::vector<AttributedLoop> result;
  for (const auto& sweeper : router.sweepers) result.push_back(sweeper->finish());
  return result;
}

}  // namespace stepscope
