#include "analyzer/verdict/deaths.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "analyzer/verdict/memory_growth.h"
#include "analyzer/verdict/memory_limits.h"
#include "analyzer/verdict/tensor_memory.h"
#include "store/counters.h"

namespace stepscope {
namespace {

bool is_death(const ProcessEnd& end) {
  return end.how == EndKind::kSignal || (end.how == EndKind::kExit && end.code > 0);
}

// What a recording says about each process, looked up once for all of them.
class ProcessFacts {
 public:
  ProcessFacts(const RecordedRun& recording, const std::vector<LoopReport>& loops) {
    for (const LoopReport& loop : loops) {
      const LoopReport*& most = loops_[loop.process];
      if (most == nullptr || loop.steps.size() > most->steps.size()) most = &loop;
    }
    std::map<ProcessId, SessionTime> ended_well;
    for (const ProcessEnd& end : recording.ends) {
      ends_[end.process] = &end;
      if (end.how != EndKind::kExit || end.code != 0) continue;
      SessionTime& at = ended_well.try_emplace(end.process, end.at).first->second;
      at = std::max(at, end.at);
    }
    for (const StoredProcess& process : recording.processes) {
      const auto end = ended_well.find(process.id);
      if (end == ended_well.end()) continue;
      SessionTime& at = ended_well_.try_emplace(process.pid, end->second).first->second;
      at = std::max(at, end->second);
    }
    std::map<ThreadId, const UnfinishedOp*> innermost;
    for (const UnfinishedOp& op : recording.unfinished) innermost[op.thread] = &op;
    for (const StoredThread& thread : recording.threads) {
      const auto op = innermost.find(thread.id);
      if (op != innermost.end()) open_[thread.process].push_back({&thread, op->second});
    }
  }

  // Null: it was still running, or its end was not observed.
  [[nodiscard]] const ProcessEnd* end(ProcessId process) const { return find(ends_, process); }
  // The loop of the process that took most steps.
  [[nodiscard]] const LoopReport* loop(ProcessId process) const { return find(loops_, process); }
  // Whether a worker was told to end by its parent, which went on and ended well itself: loaders do
  // that to their workers when a program is done. (The signal is known only for the wrapped
  // program.)
  [[nodiscard]] bool was_dismissed(const StoredProcess& process, const ProcessEnd& end) const {
    if (end.how != EndKind::kSignal || end.out_of_memory) return false;
    if (end.code != SIGTERM && end.code != 0) return false;
    const auto parent = ended_well_.find(process.parent_pid);
    return parent != ended_well_.end() && parent->second >= end.at;
  }

  // The innermost open op of a thread.
  struct OpenOp {
    const StoredThread* thread = nullptr;
    const UnfinishedOp* op = nullptr;
  };
  // The open ops of the threads of a process, in the order of the threads.
  [[nodiscard]] std::span<const OpenOp> open_ops(ProcessId process) const {
    const auto known = open_.find(process);
    return known == open_.end() ? std::span<const OpenOp>() : std::span(known->second);
  }

 private:
  template <typename Value>
  static Value find(const std::map<ProcessId, Value>& of, ProcessId process) {
    const auto known = of.find(process);
    return known == of.end() ? nullptr : known->second;
  }

  std::map<ProcessId, const LoopReport*> loops_;
  std::map<ProcessId, const ProcessEnd*> ends_;
  std::map<std::int64_t, SessionTime> ended_well_;  // by pid: the last time that it did
  std::map<ProcessId, std::vector<OpenOp>> open_;
};

// The innermost open op: of the loop's thread when it has one, else of the thread whose op has been
// open for the shortest time.
void find_op(const RecordedRun& recording, const ProcessFacts& facts, const LoopReport* loop,
             ProcessReport& report) {
  const UnfinishedOp* chosen = nullptr;
  for (const auto& [thread, op] : facts.open_ops(report.id)) {
    const bool of_loop = loop != nullptr && thread->id == loop->verdict.thread;
    if (chosen != nullptr && !of_loop && op->start <= chosen->start) continue;
    chosen = op;
    report.died_in = recording.text(chosen->name);
    report.died_in_thread = thread->name.empty() ? std::to_string(thread->tid) : thread->name;
    if (of_loop) break;
  }
}

// The last step, if nothing shows that another one had begun: no phase and no op.
std::int64_t last_step_before(const RecordedRun& recording, const LoopReport* loop,
                              const ProcessReport& report) {
  if (loop == nullptr || loop->steps.empty() || !report.died_in.empty()) return 0;
  const Step& last = loop->steps.back();
  if (report.end->step != last.number + 1) return 0;
  const std::vector<Phase> phases = phases_of(recording, loop->verdict.thread);
  const bool began = std::ranges::any_of(phases, [&](const Phase& phase) {
    return phase.start >= last.end() && phase.kind != PhaseKind::kInputEnd &&
           phase.kind <= kLastPhaseOfOps && phase.kind != PhaseKind::kStep &&
           phase.kind != PhaseKind::kScope;
  });
  return began ? 0 : last.number;
}

// The processes to report: all, or if too many, those with a loop or an end first.
std::vector<const StoredProcess*> reported_processes(const RecordedRun& recording,
                                                     const ProcessFacts& facts) {
  std::vector<const StoredProcess*> chosen;
  for (const StoredProcess& process : recording.processes) chosen.push_back(&process);
  if (chosen.size() <= kMaxProcesses) return chosen;
  std::stable_sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) {
    const auto rank = [&](const StoredProcess* process) {
      return facts.loop(process->id) != nullptr ? 0 : facts.end(process->id) != nullptr ? 1 : 2;
    };
    return rank(a) < rank(b);
  });
  chosen.resize(kMaxProcesses);
  std::sort(chosen.begin(), chosen.end());  // in the order of the recording
  return chosen;
}

std::int64_t step_at(const LoopReport* loop, SessionTime time) {
  if (loop == nullptr) return 0;
  const auto of_time = std::find_if(loop->steps.begin(), loop->steps.end(), [=](const Step& step) {
    return step.start <= time && time < step.end();
  });
  return of_time == loop->steps.end() ? 0 : of_time->number;
}

void measure_memory(const Counters& counters, const LoopReport* loop, ProcessReport& report) {
  report.tensors = measure_tensor_memory(counters, report.id);
  if (report.tensors) report.peak_step = step_at(loop, report.tensors->peak.at);
  const CounterSeries* memory = counters.find(report.id, counter::kRss);
  if (memory == nullptr) return;
  report.rss_bytes = memory->last();
  report.rss_peak_bytes = memory->peak().value;
  if (loop == nullptr) return;
  std::vector<Step> steady;
  std::copy_if(loop->steps.begin(), loop->steps.end(), std::back_inserter(steady),
               [](const Step& step) { return step.steady; });
  report.rss_growth_per_step = growth_per_step(*memory, steady);
  report.grows = report.rss_growth_per_step * static_cast<double>(steady.size()) >=
                 kMinGrowth * report.rss_bytes;
}

}  // namespace

std::vector<ProcessReport> describe_processes(const RecordedRun& recording,
                                              const Counters& counters,
                                              const std::vector<LoopReport>& loops) {
  const ProcessFacts facts(recording, loops);
  std::vector<ProcessReport> result;
  for (const StoredProcess* const reported : reported_processes(recording, facts)) {
    const StoredProcess& process = *reported;
    ProcessReport report;
    static_cast<StoredProcess&>(report) = process;
    if (const ProcessEnd* const end = facts.end(process.id); end != nullptr) report.end = *end;
    const LoopReport* const loop = facts.loop(process.id);
    measure_memory(counters, loop, report);
    if (report.end && is_death(*report.end) && !facts.was_dismissed(process, *report.end)) {
      report.died = true;
      report.unit = loop == nullptr ? "step" : loop->unit();
      report.limits = read_memory_limits(counters, process.id);
      report.of_memory = report.end->out_of_memory || report.limits.reached();
      find_op(recording, facts, loop, report);
      report.after_step = last_step_before(recording, loop, report);
    }
    result.push_back(std::move(report));
  }
  return result;
}

std::vector<std::size_t> order_of_deaths(const std::vector<ProcessReport>& processes) {
  std::vector<std::size_t> dead;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].died) dead.push_back(i);
  }
  std::stable_sort(dead.begin(), dead.end(), [&](std::size_t a, std::size_t b) {
    return processes[a].end->at < processes[b].end->at;
  });
  return dead;
}

}  // namespace stepscope
