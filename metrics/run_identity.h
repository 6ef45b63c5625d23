// What distinguishes a run from others: the labels of all its metrics.
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
  std::string job;  // the same for all runs of a job
  std::string run;  // the same on all nodes of a run
  std::string host;

  [[nodiscard]] Labels labels() const { return {{"job", job}, {"run", run}, {"host", host}}; }
};

// The name of a run without an id: "train.py@2026-11-25T00:18:03Z".
std::string run_by_its_start(const std::string& program, std::int64_t start_unix_s);

}  // namespace stepscope
