// The names of a run and its job: those of the command line, else those of the launcher, else that
// of the program. Both the placeholders of -o and the labels of metrics use these names.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct RunNames {
  std::string program;  // "train.py"
  std::string job;      // shared by the runs of one job: --job, the scheduler's name, the program
  std::string job_id;   // --job, the id that the launcher set, the program
  std::string run;      // the same on all nodes of a run; "" without a job id
  std::string host;
  std::string rank;  // "0" without a launcher
  std::string node;  // the host without a launcher
};

// `job`: the value of --job, or "".
RunNames name_run(const std::string& job, const std::vector<std::string>& program);

}  // namespace stepscope
