// What tells one run from others: labels of each of its metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "metrics/metric_family.h"

namespace stepscope {

// The value of an environment variable; "" if it is not set.
using Variables = std::function<std::string(const char* name)>;
std::string variable_of_this_process(const char* name);

struct RunIdentity {
  std::string job;  // the scheduler's id of the job; "": none
  std::string run;  // the job's id, the same on all of its nodes; else the program and its start
  std::string host;

  [[nodiscard]] Labels labels() const { return {{"job", job}, {"run", run}, {"host", host}}; }
};

// The job is found as `stepscope lake add` finds it. `program`: a name such as "train.py".
RunIdentity identify_run(const Variables& variable, const std::string& program,
                         std::int64_t start_unix_s, const std::string& host);

}  // namespace stepscope
