// What the processes of a run say about the job: a launcher inside the command, such as torchrun,
// tells its workers more than the command itself was told.
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
  // `command`: of the command itself.
  explicit RankIdentities(JobIdentity command) : command_(std::move(command)) {}

  // A process with this rank has come, which its environment says more of. Returns the rows of
  // `meta` to set because of it.
  std::vector<std::pair<std::string, std::string>> add(std::int64_t rank,
                                                       const JobIdentity& process);

 private:
  JobIdentity command_;
  std::map<std::int64_t, std::int64_t> local_ranks_;  // by rank
};

}  // namespace stepscope
