// The live metrics of `stepscope run`, as its options and the environment request them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/live_metrics.h"
#include "profiler/launch/child.h"
#include "store/status.h"

namespace stepscope {

struct MetricsArguments {
  bool wanted = false;  // --metrics was given
  std::string address;  // its value, or ""
  double interval_s = 5;
};

// Does nothing if no metrics were requested. Once the program runs, nothing here throws.
class MetricsOfRun {
 public:
  // Errors: kUsage, for an invalid option. Any other problem becomes a line that start() returns.
  // `job`: the name that the user gave it, or "".
  static Result<MetricsOfRun> open(const MetricsArguments& arguments, const std::string& job,
                                   const std::vector<std::string>& program);

  // Adds the variables by which the program finds the metrics.
  void add_to(Environment& environment);
  // Call after the program has started. Returns lines for the user; if `quiet`, only about
  // problems.
  std::vector<std::string> start(bool quiet) noexcept;
  // From now on, the recording is in this store.
  void follow(const std::string& store);
  // Call after the program has ended, before the recorder closes the store.
  void stop_reading() noexcept;
  // Call after the recorder has closed the store. Returns lines about problems.
  std::vector<std::string> finish() noexcept;

 private:
  std::unique_ptr<LiveMetrics> metrics_;  // null: none
  double interval_s_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace stepscope
