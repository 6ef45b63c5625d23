#include "analyzer/process_tree.h"

namespace stepscope {

ProcessTree::ProcessTree(std::span<const StoredProcess> processes) {
  std::map<std::int64_t, std::vector<ProcessId>> by_pid;
  for (const StoredProcess& process : processes) by_pid[process.pid].push_back(process.id);
  for (const StoredProcess& process : processes) {
    pids_[process.id] = process.pid;
    const auto parents = by_pid.find(process.parent_pid);
    if (parents == by_pid.end()) continue;
    for (const ProcessId parent : parents->second) {
      if (parent == process.id) continue;
      parents_[process.id] = parent;
      break;
    }
  }
}

std::set<ProcessId> ProcessTree::serving(const std::set<ProcessId>& leaders) const {
  std::map<ProcessId, bool> known;
  for (const auto& [process, parent] : parents_) follow(process, leaders, known);
  std::set<ProcessId> serving;
  for (const auto& [process, serves] : known) {
    if (serves) serving.insert(process);
  }
  return serving;
}

std::set<ProcessId> ProcessTree::started_by(std::int64_t pid) const {
  std::set<ProcessId> leaders;  // several if the process was replaced by exec()
  for (const auto& [process, its_pid] : pids_) {
    if (its_pid == pid) leaders.insert(process);
  }
  std::set<ProcessId> started = serving(leaders);
  std::erase_if(started, [&](ProcessId process) { return leaders.contains(process); });
  return started;
}

bool ProcessTree::has_pid(ProcessId process, std::int64_t pid) const {
  const auto known = pids_.find(process);
  return known != pids_.end() && known->second == pid;
}

// Each process is visited once: the way up ends at a known process, or returns to itself.
void ProcessTree::follow(ProcessId process, const std::set<ProcessId>& leaders,
                         std::map<ProcessId, bool>& known) const {
  std::vector<ProcessId> way;
  bool serves = false;
  for (ProcessId at = process; known.try_emplace(at, false).second;) {
    way.push_back(at);
    const auto parent = parents_.find(at);
    if (parent == parents_.end()) break;
    at = parent->second;
    const auto above = known.find(at);
    serves = leaders.contains(at) || (above != known.end() && above->second);
    if (serves) break;
  }
  for (const ProcessId each : way) known[each] = serves;
}

}  // namespace stepscope
