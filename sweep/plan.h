// From the command line of a sweep to what is to be measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/status.h"
#include "store/sweep_rows.h"

namespace stepscope {

// As they were written.
struct SweepArguments {
  std::string output = "sweep.db";
  std::vector<std::string> parameters;
  std::vector<std::string> variants;
  std::vector<std::string> program;
  int repeats = 3;
  int warmup = -1;  // -1: found by itself
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
  std::vector<std::vector<std::string>> words;  // of each cell: what is run
  // Of each cell; nothing: not known. Per run when per_run, else per step.
  std::vector<std::optional<double>> samples;
  bool per_run = false;
  std::optional<std::int64_t> warm_up;  // steps; nothing: found by itself
  std::int64_t memory_limit = 0;        // bytes; 0: none
};

// Errors: kUsage, one line: no settings, a placeholder that no parameter fills, a parameter without
// a placeholder, a value that is none.
Result<SweepJob> plan_sweep(const SweepArguments& arguments);

// Whether a sweep of `stored` can be resumed. Error: kUsage, naming the first difference.
Status check_same_sweep(const std::string& path, const SweepPlan& stored, const SweepPlan& wanted);

}  // namespace stepscope
