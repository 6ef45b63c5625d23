// What a run and its job are called: by the command line, else by the launcher, else as its
// program. The one source for the placeholders of -o and for the labels of metrics.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct RunNames {
  std::string program;  // "train.py"
  std::string job;      // what the runs of one job share: --job, the scheduler's name, the program
  std::string job_id;   // --job, the id that the launcher set, the program
  std::string run;      // the same on all nodes of a run; "" without a job id
  std::string host;
  std::string rank;  // "0" without a launcher
  std::string node;  // the host without one
};

// `job`: of --job, or "".
RunNames name_run(const std::string& job, const std::vector<std::string>& program);

}  // namespace stepscope
