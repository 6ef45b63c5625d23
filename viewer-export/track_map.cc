#include "viewer-export/track_map.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// Linux counts tids to 2^22. From here on numbers are ours.
constexpr std::int64_t kFirstSpare = 10'000'000;

Track make_track(std::int64_t pid, std::int64_t tid, std::string name) {
  std::string json = ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ',';
  return {pid, tid, std::move(name), std::move(json)};
}

std::string process_title(const StoredProcess& process) {
  const std::string name = process.name.empty() ? "process" : process.name;
  return name + " (pid " + std::to_string(process.pid) + ")";
}

}  // namespace

TrackMap::TrackMap(const std::vector<StoredProcess>& processes,
                   const std::vector<StoredThread>& threads)
    : stored_processes_(processes), stored_threads_(threads), next_spare_(kFirstSpare) {
  for (const StoredProcess& process : stored_processes_) {
    processes_.push_back(
        {static_cast<std::int64_t>(processes_.size()) + 1, process_title(process)});
  }
  if (processes_.empty()) processes_.push_back({1, "run"});
  next_row_ = static_cast<std::int64_t>(processes_.size()) + 1;
  std::size_t most = 0;
  for (const StoredThread& thread : stored_threads_) {
    most = std::max(most, static_cast<std::size_t>(thread.id));
  }
  threads_.resize(most + 1);
}

std::int64_t TrackMap::pid_of(ProcessId id) const {
  for (std::size_t i = 0; i < stored_processes_.size(); ++i) {
    if (stored_processes_[i].id == id) return processes_[i].pid;
  }
  return processes_.front().pid;
}

Track TrackMap::add_row(ThreadId thread, std::string title) {
  std::int64_t pid = processes_.front().pid;
  for (const StoredThread& stored : stored_threads_) {
    if (stored.id == thread) pid = pid_of(stored.process);
  }
  rows_.push_back(make_track(pid, next_row_++, std::move(title)));
  return rows_.back();
}

// Whether the system's tids of a process sort below our rows and name one thread each. In a
// container they may be as low as 1; a long run may see one twice.
bool TrackMap::tids_usable(ProcessId process) const {
  std::vector<std::int64_t> tids;
  for (const StoredThread& thread : stored_threads_) {
    if (thread.process == process) tids.push_back(thread.tid);
  }
  std::ranges::sort(tids);
  const bool in_range = tids.empty() || (tids.front() >= next_row_ && tids.back() < kFirstSpare);
  return in_range && std::ranges::adjacent_find(tids) == tids.end();
}

void TrackMap::number_threads() {
  // By tid, so that spare numbers keep the order.
  std::vector<const StoredThread*> by_tid;
  for (const StoredThread& thread : stored_threads_) by_tid.push_back(&thread);
  std::ranges::stable_sort(by_tid, {}, [](const StoredThread* thread) { return thread->tid; });
  for (const StoredThread* thread : by_tid) {
    std::string name = thread->name.empty() ? "thread" : thread->name;
    std::int64_t tid = thread->tid;
    if (!tids_usable(thread->process)) {
      name += " (tid " + std::to_string(tid) + ")";
      tid = next_spare_++;
    }
    threads_[static_cast<std::size_t>(thread->id)] =
        make_track(pid_of(thread->process), tid, std::move(name));
  }
}

Track TrackMap::add_lane(ThreadId thread) {
  const Track& own = threads_[static_cast<std::size_t>(thread)];
  lanes_.push_back(make_track(own.pid, next_spare_++, own.name + " (overlapping)"));
  return lanes_.back();
}

const Track* TrackMap::thread(ThreadId id) const {
  const auto at = static_cast<std::size_t>(id);
  return at < threads_.size() && threads_[at].tid != 0 ? &threads_[at] : nullptr;
}

}  // namespace stepscope
