#include "analyzer/steps/infer_steps.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "analyzer/ops/op_class.h"
#include "analyzer/process_tree.h"

namespace stepscope {
namespace {

// In a windowed recording, a longer wait lies between windows. In median steps.
constexpr int kLongestWait = 10;

// One thread that may turn out to be a loop.
struct Suspect {
  explicit Suspect(bool windowed) : rounds(windowed) {}

  RoundReader rounds;
  std::unique_ptr<LoopItems> items;
};

using Suspects = std::map<ThreadId, Suspect>;

std::set<ProcessId> processes_of(const std::vector<Loop>& loops) {
  std::set<ProcessId> processes;
  for (const Loop& loop : loops) processes.insert(loop.process);
  return processes;
}

// The threads of processes that have no loop yet and do not serve a process with one.
std::vector<const StoredThread*> unexplained(const RecordedRun& recording,
                                             const ProcessTree& processes,
                                             const std::vector<Loop>& loops) {
  const auto explained = processes_of(loops);
  const auto serving = processes.serving(explained);
  std::vector<const StoredThread*> threads;
  for (const StoredThread& thread : recording.threads) {
    if (!explained.contains(thread.process) && !serving.contains(thread.process))
      threads.push_back(&thread);
  }
  return threads;
}

// If a main thread repeats, the other threads of its process prepare its batches.
void drop_helpers(const RecordedRun& recording, const ProcessTree& processes,
                  std::vector<Loop>& found) {
  std::set<ProcessId> led_by_main;
  std::set<ThreadId> mains;
  for (const StoredThread& thread : recording.threads) {
    if (processes.has_pid(thread.process, thread.tid)) mains.insert(thread.id);
  }
  for (const Loop& loop : found) {
    if (mains.contains(loop.thread)) led_by_main.insert(loop.process);
  }
  const auto serving = processes.serving(processes_of(found));
  std::erase_if(found, [&](const Loop& loop) {
    return (led_by_main.contains(loop.process) && !mains.contains(loop.thread)) ||
           serving.contains(loop.process);
  });
}

Suspects make_suspects(const RecordedRun& recording,
                       const std::vector<const StoredThread*>& threads) {
  Suspects suspects;
  const std::size_t window = std::max<std::size_t>(kItemWindow / threads.size(), 1 << 12);
  for (const StoredThread* thread : threads) {
    Suspect& suspect = suspects.try_emplace(thread->id, recording.facts.windowed).first->second;
    suspect.items = std::make_unique<LoopItems>(
        phases_of(recording, thread->id),
        [&suspect](std::vector<LoopItem> items) { suspect.rounds.add(std::move(items)); }, window);
  }
  return suspects;
}

bool trains(const RecordedRun& recording, ThreadId thread) {
  const auto phases = phases_of(recording, thread);
  return std::any_of(phases.begin(), phases.end(),
                     [](const Phase& p) { return p.kind == PhaseKind::kBackward; });
}

}  // namespace

void RoundReader::add(std::vector<LoopItem> items) {
  std::vector<std::size_t> begins;
  if (!cycle_) {
    // As long as parts have no cycle, fewer and fewer are examined: the 1st, 2nd, 4th, 8th, …
    if (!std::has_single_bit(++parts_)) return;
    cycle_ = find_cycle(items);
    if (!cycle_) return;
    cutter_.emplace(*cycle_);
    begins = round_begins(*cycle_, items);
  }
  auto begin = begins.begin();
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool begins_here = cutter_->begins_round(items[i]);
    if (begin != begins.end() && *begin == i) {
      begins_here = true;
      ++begin;
    }
    place(items[i], begins_here);
  }
}

void RoundReader::place(const LoopItem& item, bool begins_round) {
  if (begins_round) rounds_.push_back({{item.start - item.gap, item.start}, 0, false, {}});
  if (rounds_.empty()) return;
  Round& round = rounds_.back();
  round.computes |= !item.fills;
  if (++round.items <= cycle_->length) round.end = std::max(round.end, item.end);
}

// Code before the loop may look like a first round, and the last round may be unfinished: such a
// round is much shorter than the median, and than nearly all others.
void RoundReader::drop_odd_ends() {
  std::vector<std::size_t> lengths;
  for (const Round& round : rounds_) lengths.push_back(round.items);
  if (lengths.empty()) return;
  const auto low = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 20);
  std::nth_element(lengths.begin(), low, lengths.end());
  const std::size_t least = std::min(*low, cycle_->length * 3 / 4);
  const auto first = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& round) {
    return round.items >= least && round.items <= cycle_->length * 2;
  });
  rounds_.erase(rounds_.begin(), first);
  if (!rounds_.empty() && rounds_.back().items < least) rounds_.pop_back();
}

void RoundReader::keep_longest_window() {
  std::vector<Duration> distances;
  for (std::size_t i = 1; i < rounds_.size(); ++i)
    distances.push_back(rounds_[i].wait.end - rounds_[i - 1].wait.end);
  if (distances.empty()) return;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  const Duration longest_wait = *middle * kLongestWait;
  std::size_t best = 0, most = 0, first = 0;
  for (std::size_t i = 1; i <= rounds_.size(); ++i) {
    if (i < rounds_.size() && rounds_[i].wait.length() <= longest_wait) continue;
    if (i - first > most) {
      best = first;
      most = i - first;
    }
    first = i;
  }
  rounds_.erase(rounds_.begin() + static_cast<std::ptrdiff_t>(best + most), rounds_.end());
  rounds_.erase(rounds_.begin(), rounds_.begin() + static_cast<std::ptrdiff_t>(best));
}

void RoundReader::finish(Loop& loop) {
  if (!cycle_) return;
  if (windowed_) keep_longest_window();
  drop_odd_ends();
  if (rounds_.size() < kMinRounds) return;
  // Layers that are initialised one after the other repeat, too.
  const auto computing = std::count_if(rounds_.begin(), rounds_.end(),
                                       [](const Round& round) { return round.computes; });
  if (computing * 2 < std::ssize(rounds_)) return;
  // The start of the wait before the first round is unknown.
  rounds_.front().wait.start = rounds_.front().wait.end;
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    const TimeRange wait = rounds_[i].wait;
    const SessionTime end =
        i + 1 < rounds_.size() ? rounds_[i + 1].wait.start : std::max(rounds_[i].end, wait.end);
    if (wait.start < end) loop.steps.push_back({wait.start, end});
    if (!cycle_->waits || wait.length() <= Duration(0)) continue;
    loop.input.begins.push_back(wait.start);
    loop.input.pieces.push_back(
        {loop.thread, PhaseKind::kInput, StringId::kNone, wait.start, wait.length(), Duration(0)});
  }
}

Status infer_steps(const RecordedRun& recording, std::vector<Loop>& loops) {
  const ProcessTree processes(recording.processes);
  const auto threads = unexplained(recording, processes, loops);
  if (threads.empty() || recording.op_count == 0) return {};
  Suspects suspects = make_suspects(recording, threads);
  OpClasses classes(recording.text);
  const Status read = recording.for_each_op([&](const Op& op) {
    if (const auto it = suspects.find(op.thread); it != suspects.end()) {
      it->second.items->add(op, classes.of(op), classes.fills_tensors(op));
    }
    return true;
  });
  if (!read.ok()) return read;
  std::vector<Loop> found;
  for (const StoredThread* thread : threads) {
    Suspect& suspect = suspects.at(thread->id);
    suspect.items->finish();
    Loop loop;
    loop.thread = thread->id;
    loop.process = thread->process;
    loop.trains = trains(recording, thread->id);
    suspect.rounds.finish(loop);
    if (!loop.steps.empty()) found.push_back(std::move(loop));
  }
  drop_helpers(recording, processes, found);
  std::move(found.begin(), found.end(), std::back_inserter(loops));
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.thread < b.thread; });
  return {};
}

}  // namespace stepscope
