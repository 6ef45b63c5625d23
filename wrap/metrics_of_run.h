// The live metrics of `stepscope run`, which its options and the environment ask for.
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
  std::string address;  // what it was given, or ""
  double interval_s = 5;
};

// Does nothing where nobody asked for metrics. Once the program runs, nothing here throws.
class MetricsOfRun {
 public:
  // Errors: kUsage, of an option. Anything else that is wrong becomes a line of start().
  // `job`: what the user calls it, or "".
  static Result<MetricsOfRun> open(const MetricsArguments& arguments, const std::string& job,
                                   const std::vector<std::string>& program);

  // Adds the variables by which the program finds the metrics.
  void add_to(Environment& environment);
  // After the start of the program. Lines for the user; if `quiet`, only about what went wrong.
  std::vector<std::string> start(bool quiet) noexcept;
  // The recording is in this store from now on.
  void follow(const std::string& store);
  // After the program ended, before the recorder closes the store.
  void stop_reading() noexcept;
  // After the recorder closed the store. Lines about what went wrong.
  std::vector<std::string> finish() noexcept;

 private:
  std::unique_ptr<LiveMetrics> metrics_;  // null: none
  std::vector<std::string> problems_;
};

}  // namespace stepscope
