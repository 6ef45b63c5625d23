// Collects what the processes of a run know about the job. A launcher inside the command, such as
// torchrun, gives its workers more variables than the command itself has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/identity/job_identity.h"

namespace stepscope {

class RankIdentities {
 public:
  // `command`: the identity of the command itself.
  explicit RankIdentities(JobIdentity command) : command_(std::move(command)) {}

  // Adds a process with this rank and the identity in its environment. Returns the rows of `meta`
  // that change.
  std::vector<std::pair<std::string, std::string>> add(std::int64_t rank,
                                                       const JobIdentity& process);

 private:
  JobIdentity command_;
  std::map<std::int64_t, std::int64_t> local_ranks_;  // by rank
};

}  // namespace stepscope
