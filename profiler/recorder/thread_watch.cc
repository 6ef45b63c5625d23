#include "profiler/recorder/thread_watch.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "profiler/process/process_tree.h"

namespace stepscope {
namespace {

// Most threads begin with the program and the first steps. Later ones are found within a second.
constexpr std::int64_t kEagerSearches = 20;
constexpr std::int64_t kSearchEvery = 10;  // samples

// A smaller change is not worth a row, unless nothing was stored for a second.
constexpr std::int64_t kMinNews = 1'000'000;  // ns
constexpr std::chrono::seconds kLongest{1};

std::string file_of(const SystemFolders& system, pid_t pid, pid_t tid, const char* name) {
  return system.proc + "/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

std::int64_t cores_of(pid_t tid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(tid, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

void ThreadWatch::add_threads(Root process) {
  for (const pid_t tid : threads_of(system_.proc, process.pid, kMaxOfProcess)) {
    const auto known = threads_.find(tid);
    if (known != threads_.end() && known->second.pid == process.pid) {
      known->second.seen = true;
      known->second.cores = cores_of(tid);
      continue;
    }
    if (threads_.size() >= kMaxInAll) return;
    Watched thread;
    thread.pid = process.pid;
    thread.process = process.process;
    thread.cores = cores_of(tid);
    const std::string file = file_of(system_, process.pid, tid, "schedstat");
    if (thread.file.open(file.c_str())) threads_.insert_or_assign(tid, std::move(thread));
  }
}

void ThreadWatch::search(std::span<const Root> roots) {
  for (auto& [tid, thread] : threads_) thread.seen = false;
  std::set<pid_t> known;
  for (const Root& root : roots) known.insert(root.pid);
  std::vector<Root> found(roots.begin(), roots.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    add_threads(found[i]);
    if (found.size() >= roots.size() + kMaxProcesses) continue;
    for (const pid_t child :
         children_of(system_.proc, found[i].pid, kMaxOfProcess, kMaxProcesses)) {
      if (known.insert(child).second) found.push_back({child, found[i].process});
    }
  }
  // A tid may be reused by another thread.
  std::erase_if(threads_, [this](const auto& entry) {
    const auto& [tid, thread] = entry;
    if (!thread.seen) rows_.erase({thread.pid, tid});
    return !thread.seen;
  });
  processes_ = std::move(found);
}

Result<WatchedThreadId> ThreadWatch::row_of(TraceWriter& writer, pid_t pid, pid_t tid) {
  const auto known = rows_.find({pid, tid});
  if (known != rows_.end()) return known->second;
  const auto process = std::ranges::find(processes_, pid, &Root::pid);
  if (process == processes_.end()) return WatchedThreadId::kNone;
  std::string name;
  std::getline(std::ifstream(file_of(system_, pid, tid, "comm")), name);
  const auto id = writer.add_watched_thread({process->process, pid, tid, name});
  if (id.ok()) rows_.emplace(std::pair(pid, tid), *id);
  return id;
}

Status ThreadWatch::add_reading(TraceWriter& writer, pid_t tid, Watched& thread,
                                const ScheduleTimes& times, SessionTime at) {
  const bool is_new = thread.id == WatchedThreadId::kNone;
  const std::int64_t news =
      times.run_ns + times.starved_ns - thread.stored.run_ns - thread.stored.starved_ns;
  const bool long_ago = news > 0 && at - thread.stored_at >= kLongest;
  if (!is_new && news < kMinNews && !long_ago) return {};
  if (is_new) {
    const auto id = row_of(writer, thread.pid, tid);
    if (!id.ok()) return id.status();
    thread.id = *id;
  }
  thread.stored = times;
  thread.stored_at = at;
  readings_.push_back(
      {thread.id, at, Duration(times.run_ns), Duration(times.starved_ns), thread.cores});
  return {};
}

Status ThreadWatch::store(TraceWriter& writer, std::span<const Root> roots, SessionTime at) {
  if (samples_ < kEagerSearches || samples_ % kSearchEvery == 0) search(roots);
  ++samples_;
  readings_.clear();
  for (auto& [tid, thread] : threads_) {
    const auto times = thread.file.read();
    if (!times) continue;  // it has ended; the next search removes it
    if (Status status = add_reading(writer, tid, thread, *times, at); !status.ok()) return status;
  }
  return readings_.empty() ? Status() : writer.add(readings_);
}

}  // namespace stepscope
