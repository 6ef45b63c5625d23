// Stores that the tests and benchmarks of the export are run on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "store/status.h"
#include "store/time.h"

namespace stepscope::testing {

// A training run with one of everything that is hard to draw: nested ops, some with equal starts;
// ops without a length; asynchronous ops that overlap others; overlapping phases; backward nodes on
// a second thread, tied to their forward ops; steps with a verdict; losses; and, as the names of
// ops, scopes, threads and the process, texts that have broken viewers.
Status make_hostile_store(const std::filesystem::path& path);

// Calls of a model that nobody trains, enough for a p99: each waits for its batch, tokenizes it in
// a labelled scope, marks the lengths of its three samples, and runs two layers.
struct ServedRun {
  static constexpr int kCalls = 120;
  static constexpr Duration kInput{200'000};
  static constexpr Duration kTokenize{300'000};
  static constexpr Duration kLayer{400'000};
  static constexpr Duration kBetween{50'000};  // after the layers
};
Status make_served_store(const std::filesystem::path& path);

// A training run whose tensors are sampled at each step's start, by the phase that allocated them.
// They hold most in step kPeakStep; in the last step the process is killed.
struct TensorRun {
  static constexpr int kSteps = 30;
  static constexpr int kPeakStep = 20;
  // Of a step, counted from 1; in bytes. No optimizer state before the second step.
  static std::int64_t bytes(std::string_view phase, int step);
};
Status make_tensor_store(const std::filesystem::path& path);

// `ops` ops on three threads, in steps of a thousand, for measuring.
Status make_large_store(const std::filesystem::path& path, std::int64_t ops);

}  // namespace stepscope::testing
