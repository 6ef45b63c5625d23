// A training run whose call stacks were looked at, for the page Code of the report.
#pragma once

#include <cstdint>
#include <filesystem>

#include "store/events.h"
#include "store/status.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope::testing {

// The loop of a SyntheticRun that waits for a worker, each looked at ten times a millisecond: the
// loop always, its worker while it is awaited and once after that. A third thread has functions
// with names that try to be markup, once a step.
struct CodeRun {
  static constexpr SyntheticRun kRun{.steps = 40};
  static constexpr Duration kEvery{100'000};
  // Samples a step.
  static constexpr std::int64_t kInput = 30, kForward = 6, kBackward = 8, kOptimizer = 4;
  static constexpr std::int64_t kDecode = 20, kReadFile = 10;  // of the worker; the latter asleep
  static constexpr std::int64_t kHostile = 3;
  // Lines of train.py.
  static constexpr std::int64_t kDecodeLine = 6, kReadFileLine = 10, kGetItemLine = 15,
                                kWaitLine = 22, kForwardLine = 24, kBackwardLine = 25,
                                kOptimizerLine = 26, kMainLine = 30;
};

// `folder`: that the program ran in, with its train.py.
Status make_code_store(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace stepscope::testing
