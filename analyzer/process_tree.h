// Which process of a recording started which.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "store/trace_reader.h"

namespace stepscope {

class ProcessTree {
 public:
  explicit ProcessTree(std::span<const StoredProcess> processes);

  // The processes with one of `leaders` among their ancestors: they work for it, as the workers of
  // a loader do. A fork server, from which CPython 3.14 starts them, lies between.
  [[nodiscard]] std::set<ProcessId> serving(const std::set<ProcessId>& leaders) const;
  // The processes that the process with this pid started, or that one of those started.
  [[nodiscard]] std::set<ProcessId> started_by(std::int64_t pid) const;
  [[nodiscard]] bool has_pid(ProcessId process, std::int64_t pid) const;

 private:
  void follow(ProcessId process, const std::set<ProcessId>& leaders,
              std::map<ProcessId, bool>& known) const;

  std::map<ProcessId, ProcessId> parents_;
  std::map<ProcessId, std::int64_t> pids_;
};

}  // namespace stepscope
