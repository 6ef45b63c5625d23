#include "analyzer/verdict/deaths.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <string>
#include <utility>

#include "analyzer/median.h"
#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "store/counters.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostPairs = 200;  // readings that are compared with one another
constexpr double kMuchMore = 1.5;        // than at the end: the most it held is told too

bool is_death(const ProcessEnd& end) {
  return end.how == EndKind::kSignal || (end.how == EndKind::kExit && end.code > 0);
}

// A worker that was told to end by its parent, which went on and ended well itself: loaders do that
// with theirs when a program is done. (Which signal it was is known of the wrapped program only.)
bool was_dismissed(const RecordedRun& recording, const StoredProcess& process,
                   const ProcessEnd& end) {
  if (end.how != EndKind::kSignal || end.out_of_memory) return false;
  if (end.code != SIGTERM && end.code != 0) return false;
  const auto ended_well = [&](const ProcessEnd& other) {
    const bool well = other.how == EndKind::kExit && other.code == 0 && other.at >= end.at;
    return well && std::any_of(recording.processes.begin(), recording.processes.end(),
                               [&](const StoredProcess& parent) {
                                 return parent.id == other.process &&
                                        parent.pid == process.parent_pid;
                               });
  };
  return std::any_of(recording.ends.begin(), recording.ends.end(), ended_well);
}

// The loop of the process that took most steps.
const LoopReport* main_loop(const std::vector<LoopReport>& loops, ProcessId process) {
  const LoopReport* most = nullptr;
  for (const LoopReport& loop : loops) {
    if (loop.process != process) continue;
    if (most == nullptr || loop.steps.size() > most->steps.size()) most = &loop;
  }
  return most;
}

// The innermost open op: of the loop's thread when it has one, else of the thread whose op has been
// open for the shortest time.
void find_op(const RecordedRun& recording, const LoopReport* loop, ProcessReport& report) {
  std::map<ThreadId, const UnfinishedOp*> innermost;
  for (const UnfinishedOp& op : recording.unfinished) innermost[op.thread] = &op;
  const UnfinishedOp* chosen = nullptr;
  for (const StoredThread& thread : recording.threads) {
    const auto it = innermost.find(thread.id);
    if (thread.process != report.id || it == innermost.end()) continue;
    const bool of_loop = loop != nullptr && thread.id == loop->verdict.thread;
    if (chosen != nullptr && !of_loop && it->second->start <= chosen->start) continue;
    chosen = it->second;
    report.died_in = recording.text(chosen->name);
    report.died_in_thread = thread.name.empty() ? std::to_string(thread.tid) : thread.name;
    if (of_loop) break;
  }
}

std::string who(const ProcessReport& process) {
  const std::string pid = std::to_string(process.pid);
  return process.rank >= 0 ? "Rank " + std::to_string(process.rank) + " (process " + pid + ")"
                           : "Process " + pid + " (" + printable(process.name) + ")";
}

std::string memory_clause(const ProcessReport& process, std::string_view unit) {
  if (process.rss_bytes <= 0) return "";
  std::string text = "; it held " + bytes_text(process.rss_bytes);
  // An exception gives back what could not be had on the way out.
  if (process.rss_peak_bytes >= kMuchMore * process.rss_bytes)
    text += " (" + bytes_text(process.rss_peak_bytes) + " before)";
  if (process.tensors && process.tensors->last.bytes > 0) {
    text += ", " + bytes_text(process.tensors->last.bytes) + " of it in tensors (" +
            owners_text(process.tensors->last) + ")";
  }
  if (process.grows) {
    text += ", growing " + bytes_text(process.rss_growth_per_step) + in_units(" a step", unit);
  }
  return text;
}

std::string sentence_of(const ProcessReport& process, std::string_view unit) {
  const ProcessEnd& end = *process.end;
  std::string text = who(process) + " " + process.died;
  if (end.step > 0) text += in_units(" in step ", unit) + std::to_string(end.step);
  if (!process.died_in.empty())
    text +=
        ", in " + printable(process.died_in) + " of thread " + printable(process.died_in_thread);
  text += memory_clause(process, unit) + ".";
  const std::string limits = process.of_memory ? limits_sentence(process.limits) : "";
  return limits.empty() ? text : text + " " + limits;
}

std::string manner_of(const ProcessEnd& end) {
  if (end.out_of_memory) return "ran out of memory and was killed by the kernel";
  if (end.how == EndKind::kExit) return "ended with exit code " + std::to_string(end.code);
  return end.code == 0 ? "was killed" : "was killed by " + signal_name(end.code);
}

double number_at(const std::vector<Step>& steps, SessionTime time) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](SessionTime t, const Step& step) { return t < step.start; });
  const Step& step = after == steps.begin() ? steps.front() : *std::prev(after);
  const double into = static_cast<double>(to_ns(time - step.start)) /
                      static_cast<double>(std::max<std::int64_t>(to_ns(step.dur), 1));
  return static_cast<double>(step.number) + std::clamp(into, 0.0, 1.0);
}

std::int64_t step_at(const LoopReport* loop, SessionTime time) {
  if (loop == nullptr) return 0;
  const auto of_time = std::find_if(loop->steps.begin(), loop->steps.end(), [=](const Step& step) {
    return step.start <= time && time < step.start + step.dur;
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
                 kLeastGrowth * report.rss_bytes;
}

}  // namespace

double growth_per_step(const CounterSeries& memory, const std::vector<Step>& steps) {
  if (steps.empty()) return 0;
  auto readings = memory.within({steps.front().start, steps.back().start + steps.back().dur});
  if (readings.size() < kLeastReadings) return 0;
  const std::size_t stride = (readings.size() + kMostPairs - 1) / kMostPairs;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < readings.size(); i += stride) {
    for (std::size_t j = 0; j < i; j += stride) {
      const double moved = number_at(steps, readings[i].at) - number_at(steps, readings[j].at);
      if (moved > 0) slopes.push_back((readings[i].value - readings[j].value) / moved);
    }
  }
  if (slopes.empty()) return 0;
  return upper_median(std::move(slopes));
}

std::vector<ProcessReport> describe_processes(const RecordedRun& recording,
                                              const Counters& counters,
                                              const std::vector<LoopReport>& loops) {
  std::vector<ProcessReport> result;
  for (const StoredProcess& process : recording.processes) {
    ProcessReport report;
    static_cast<StoredProcess&>(report) = process;
    for (const ProcessEnd& end : recording.ends) {
      if (end.process == process.id) report.end = end;
    }
    const LoopReport* const loop = main_loop(loops, process.id);
    measure_memory(counters, loop, report);
    if (report.end && is_death(*report.end) && !was_dismissed(recording, process, *report.end)) {
      report.died = manner_of(*report.end);
      report.limits = read_memory_limits(counters, process.id);
      report.of_memory = report.end->out_of_memory || report.limits.reached();
      find_op(recording, loop, report);
      report.sentence = sentence_of(report, loop == nullptr ? "step" : loop->unit());
    }
    result.push_back(std::move(report));
  }
  return result;
}

std::string gap_sentence(const RunFacts& run) {
  if (!run.stopped_because.empty()) {
    return "The recording is incomplete: " + printable(run.stopped_because) + ".";
  }
  if (!run.cut_off) return {};
  return "The recording is incomplete: its recorder died, and what came after " +
         time_text(static_cast<double>(run.duration_ns)) + " is missing.";
}

std::vector<std::string> death_sentences(const std::vector<ProcessReport>& processes) {
  std::vector<const ProcessReport*> dead;
  for (const ProcessReport& process : processes) {
    if (!process.sentence.empty()) dead.push_back(&process);
  }
  std::stable_sort(dead.begin(), dead.end(), [](const ProcessReport* a, const ProcessReport* b) {
    return a->end->at < b->end->at;
  });
  std::vector<std::string> sentences;
  for (const ProcessReport* process : dead) sentences.push_back(process->sentence);
  return sentences;
}

}  // namespace stepscope
