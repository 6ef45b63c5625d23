// `stepscope run`: starts a program, unchanged, records it, and says what was recorded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profiler/recorder/stack_sampler.h"
#include "store/status.h"
#include "wrap/metrics_of_run.h"

namespace stepscope {

struct RunArguments {
  std::string output = "run.db";
  std::string job;
  std::string lake;
  double watch_lake_s = 0;  // 0: do not watch it
  std::string steps;
  std::string schedule;
  double duration_s = 0;
  std::string tier = "ops";
  std::string ops = "auto";
  std::string budget = "2%";
  bool shapes = false;
  bool no_lines = false;
  bool modules = false;
  int lines_rate = StackSampler::kDefaultRate;
  std::size_t ring_mib = 2;
  bool quiet = false;
  bool no_analysis = false;
  MetricsArguments metrics;
  std::vector<std::string> program;
};

struct WrappedEnd {
  // The program's own, or 128 + the signal that killed it; 126 or 127 if it could not be started,
  // as in a shell.
  int exit_code = 0;
  Status refused;  // why it could not be started
};

// Returns when the program has ended. Once it runs, whatever goes wrong with the recording is a
// line on standard error and changes nothing for the program. Errors: kUsage (of an option),
// kUnavailable (the installation), those of RunRecorder::start().
Result<WrappedEnd> run_wrapped(RunArguments arguments);

}  // namespace stepscope
