#include "viewer-export/track_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stepscope {
namespace {

// Linux numbers threads up to 2^22. Numbers from here on are ours.
constexpr std::int64_t kFirstSpare = 10'000'000;

Track make_track(std::int64_t pid, std::int64_t tid, std::string name) {
  std::string json = ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ',';
  return {pid, tid, std::move(name), std::move(json)};
}

std::string process_title(const StoredProcess& process) {
  const std::string name = process.name.empty() ? "process" : process.name;
  const std::string rank = process.rank >= 0 ? ", rank " + std::to_string(process.rank) : "";
  return name + " (pid " + std::to_string(process.pid) + rank + ")";
}

// The place of each process in the viewer, from 1: ranks in their order, whichever was recorded
// first, below processes without a rank (a launcher).
std::vector<std::int64_t> places_of(const std::vector<StoredProcess>& processes) {
  std::vector<std::size_t> order(processes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return processes[i].rank; });
  std::vector<std::int64_t> places(processes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    places[order[i]] = static_cast<std::int64_t>(i) + 1;
  }
  return places;
}

}  // namespace

TrackMap::TrackMap(const std::vector<StoredProcess>& processes,
                   const std::vector<StoredThread>& threads)
    : stored_processes_(processes), stored_threads_(threads), next_spare_(kFirstSpare) {
  const std::vector<std::int64_t> places = places_of(stored_processes_);
  for (std::size_t i = 0; i < stored_processes_.size(); ++i) {
    processes_.push_back({places[i], process_title(stored_processes_[i])});
    pids_.try_emplace(stored_processes_[i].id, places[i]);
  }
  if (processes_.empty()) processes_.push_back({1, "run"});
  next_row_ = static_cast<std::int64_t>(processes_.size()) + 1;
  for (const StoredThread& thread : stored_threads_) process_of_[thread.id] = thread.process;
}

std::int64_t TrackMap::add_group(std::string title) {
  processes_.push_back({next_row_, std::move(title)});
  return next_row_++;
}

void TrackMap::add_machine() { machine_pid_ = add_group("Machine"); }

std::int64_t TrackMap::pid_of(ProcessId id) const {
  if (id == ProcessId::kNone && machine_pid_ != 0) return machine_pid_;
  const auto known = pids_.find(id);
  return known != pids_.end() ? known->second : processes_.front().pid;
}

Track TrackMap::add_row(ThreadId thread, std::string title) {
  const auto known = process_of_.find(thread);
  const std::int64_t pid =
      known != process_of_.end() ? pid_of(known->second) : processes_.front().pid;
  rows_.push_back(make_track(pid, next_row_++, std::move(title)));
  return rows_.back();
}

// The processes whose tids cannot be kept: in a container they may be as low as our rows, and a
// long run, or two hosts, may have one twice.
std::set<ProcessId> TrackMap::processes_to_renumber() const {
  std::set<ProcessId> odd;
  std::map<std::int64_t, ProcessId> seen;
  for (const StoredThread& thread : stored_threads_) {
    const bool in_range = thread.tid >= next_row_ && thread.tid < kFirstSpare;
    const bool first = seen.emplace(thread.tid, thread.process).second;
    if (!in_range || !first) odd.insert(thread.process);
  }
  return odd;
}

void TrackMap::number_threads() {
  const std::set<ProcessId> odd = processes_to_renumber();
  // By tid, so that spare numbers keep the order.
  std::vector<const StoredThread*> by_tid;
  for (const StoredThread& thread : stored_threads_) by_tid.push_back(&thread);
  std::ranges::stable_sort(by_tid, {}, [](const StoredThread* thread) { return thread->tid; });
  for (const StoredThread* thread : by_tid) {
    std::string name = thread->name.empty() ? "thread" : thread->name;
    std::int64_t tid = thread->tid;
    if (odd.contains(thread->process)) {
      name += " (tid " + std::to_string(tid) + ")";
      tid = next_spare_++;
    }
    threads_[thread->id] = make_track(pid_of(thread->process), tid, std::move(name));
  }
}

Track TrackMap::add_lane(ThreadId thread, std::string_view what) {
  const Track& own = threads_.at(thread);
  return add_track(own.pid, own.name + " (" + std::string(what) + ")");
}

Track TrackMap::add_track(std::int64_t group, std::string title) {
  lanes_.push_back(make_track(group, next_spare_++, std::move(title)));
  return lanes_.back();
}

const Track* TrackMap::thread(ThreadId id) const {
  const auto known = threads_.find(id);
  return known != threads_.end() ? &known->second : nullptr;
}

}  // namespace stepscope
