// The live metrics of `stepscope run`: its options, and the variables that ask for them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/live_metrics.h"
#include "profiler/launch/child.h"
#include "store/status.h"

namespace stepscope::cli {

struct MetricsArguments {
  const CLI::Option* option = nullptr;  // --metrics
  std::string address;
  double interval_s = 5;
};

void add_metrics_options(CLI::App& verb, MetricsArguments& arguments);

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

}  // namespace stepscope::cli
