// Plans a sweep: turns its command line into the runs to measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/status.h"
#include "store/sweep_rows.h"

namespace stepscope {

// The options as they were written.
struct SweepArguments {
  std::string output = "sweep.db";
  std::vector<std::string> parameters;
  std::vector<std::string> variants;
  std::vector<std::string> program;
  int repeats = 3;
  int warmup = -1;  // -1: detected
  double timeout_s = 600;
  std::uint64_t seed = 1;
  std::string memory_limit;
  std::string samples_per_step;
  std::string samples_per_run;
  std::string tier = "phases";
  bool keep_runs = false;
  bool restart = false;
  bool retry = false;
  bool json = false;
  bool no_color = false;
};

struct SweepJob {
  SweepPlan plan;
  std::vector<std::vector<std::string>> words;  // of each cell: the command
  // Of each cell; nothing: unknown. Per run if per_run, else per step.
  std::vector<std::optional<double>> samples;
  bool per_run = false;
  std::optional<std::int64_t> warm_up;  // steps; nothing: detected
  std::int64_t memory_limit = 0;        // bytes; 0: none
};

// Errors: kUsage, one line: no settings, a placeholder that no parameter fills, a parameter without
// a placeholder, an invalid value.
Result<SweepJob> plan_sweep(const SweepArguments& arguments);

// Whether a sweep of `stored` can be resumed. Error: kUsage, naming the first difference.
Status check_same_sweep(const std::string& path, const SweepPlan& stored, const SweepPlan& wanted);

}  // namespace stepscope
