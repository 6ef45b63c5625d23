#include "wrap/step_pieces.h"

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "present/stored_analysis.h"
#include "store/absolute_path.h"
#include "store/trace_writer.h"

namespace stepscope {
namespace {

// What a lake keeps of a store's `meta`, and what names the run and the node.
constexpr std::string_view kKeys[] = {
    "host",   "boot_id",   "wall_start_unix_ns", "program",       "job_id",        "job_name",
    "rank",   "node_rank", "world_size",         "restart_count", "requeue_count", "local_ranks",
    "groups", "gpu_uuids"};

// The threads of loops whose steps have lasting numbers. If steps begin with a wait, the last one
// has not ended: `open` has it. `inferred`: the other loops.
struct LoopThreads {
  std::set<ThreadId> threads;
  std::set<ProcessId> processes;
  std::map<ThreadId, ProcessId> inferred;
  std::map<ThreadId, std::int64_t> open;
};

LoopThreads loop_threads(const LiveFrame& frame) {
  LoopThreads loops;
  for (std::size_t i = 0; i < frame.loops.size(); ++i) {
    const LoopReport& loop = frame.window.loops[i];
    if (loop.steps.empty()) continue;
    const ThreadId thread = frame.loops[i].thread;
    if (!frame.loops[i].steps) {
      loops.inferred.emplace(thread, loop.process);
      continue;
    }
    loops.threads.insert(thread);
    loops.processes.insert(loop.process);
    if (frame.being_recorded && loop.marker == StepMarker::kLoader)
      loops.open[thread] = loop.steps.back().number;
  }
  return loops;
}

// What a lake does not keep.
void drop_details(Verdict& verdict) {
  verdict.evidence.clear();
  verdict.advice.clear();
  verdict.populations.clear();
}

// Rows keep their ids: those of the analysis refer to them.
template <typename Rows, typename Add>
Status copy_rows(const Rows& rows, Add add) {
  for (const auto& row : rows) {
    const auto id = add(row);
    if (!id.ok()) return id.status();
    if (*id != row.id) return Status::error(ErrorKind::kBadInput, "the rows have gaps");
  }
  return {};
}

}  // namespace

void StepPieces::add(const LiveFrame& frame) {
  LoopThreads loops = loop_threads(frame);
  numbered_.insert(loops.processes.begin(), loops.processes.end());
  const auto has_numbers = [this](ProcessId process) { return numbered_.contains(process); };
  std::erase_if(loops.inferred, [&](const auto& loop) { return has_numbers(loop.second); });
  std::erase_if(inferred_, [&](const auto& loop) { return has_numbers(loop.second.process); });
  std::map<ThreadId, InferredLoop> inferred;
  std::set<ThreadId> old_loops;
  for (const auto& [thread, step] : last_) old_loops.insert(thread);
  Analysis window = to_analysis(frame.window);
  for (Step& step : window.steps) {
    if (const auto loop = loops.inferred.find(step.thread); loop != loops.inferred.end()) {
      // The first steps of a later window are no warm-up.
      step.steady = step.steady || inferred_.contains(step.thread);
      step.kinds.clear();
      inferred[step.thread].process = loop->second;
      inferred[step.thread].steps.push_back(std::move(step));
      continue;
    }
    if (!loops.threads.contains(step.thread)) continue;
    const auto open = loops.open.find(step.thread);
    if (open != loops.open.end() && step.number >= open->second) continue;
    const auto last = last_.find(step.thread);
    if (last != last_.end() && step.start < last->second.end()) continue;
    // The first steps of a later window are no warm-up.
    step.steady = step.steady || old_loops.contains(step.thread);
    step.kinds.clear();
    last_[step.thread] = step;
    news_.steps.push_back(std::move(step));
  }
  inferred_are_new_ = inferred_are_new_ || !inferred.empty();
  for (auto& [thread, loop] : inferred) inferred_[thread] = std::move(loop);
  news_.lines = std::move(window.lines);
  news_.verdicts.clear();
  for (Verdict& verdict : window.verdicts) {
    if (!loops.threads.contains(verdict.thread) && !loops.inferred.contains(verdict.thread))
      continue;
    drop_details(verdict);
    news_.verdicts.push_back(std::move(verdict));
  }
}

Status StepPieces::write(const std::filesystem::path& path, const TraceTail& run) const {
  const auto created = TraceWriter::create(path, ExistingStore::kRefuse);
  if (!created.ok()) return created.status();
  TraceWriter& writer = **created;
  Status status = writer.set_meta(kPieceOfMeta, absolute_path(store_).string());
  for (const std::string_view key : kKeys) {
    const auto value = run.meta(key);
    if (status.ok() && value) status = writer.set_meta(key, *value);
  }
  if (status.ok()) {
    status = copy_rows(run.processes(), [&](const auto& row) { return writer.add_process(row); });
  }
  if (status.ok()) {
    status = copy_rows(run.threads(), [&](const auto& row) { return writer.add_thread(row); });
  }
  if (status.ok()) {
    status = copy_rows(run.devices(), [&](const auto& row) { return writer.add_device(row); });
  }
  Analysis all = news_;
  std::set<ThreadId> with_news;
  for (const Step& step : news_.steps) with_news.insert(step.thread);
  for (const auto& [thread, step] : last_) {
    if (!with_news.contains(thread)) all.steps.push_back(step);
  }
  for (const auto& [thread, loop] : inferred_)
    all.steps.insert(all.steps.end(), loop.steps.begin(), loop.steps.end());
  if (status.ok()) status = writer.replace_analysis(all);
  return status.ok() ? writer.finish() : status;
}

}  // namespace stepscope
