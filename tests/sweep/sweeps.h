// Synthetic sweeps for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/read_sweep.h"
#include "store/sweep_store.h"

namespace stepscope::testing {

// A grid with every setting, in the order of the command line; no runs.
inline SweepData grid_of(std::vector<SweepParameter> parameters,
                         std::vector<SweepVariant> variants = {{"", "./p"}}) {
  SweepData data;
  data.plan.parameters = std::move(parameters);
  data.plan.variants = std::move(variants);
  data.plan.meta = {{"rounds", "3"}, {"cpu_count", "2"}, {"memory_bytes", "25000000000"}};
  for (std::size_t variant = 0; variant < data.plan.variants.size(); ++variant) {
    std::vector<std::size_t> values(data.plan.parameters.size());
    while (true) {
      data.plan.cells.push_back({variant, values, "./p"});
      std::size_t i = values.size();
      while (i > 0 && ++values[i - 1] == data.plan.parameters[i - 1].values.size()) values[--i] = 0;
      if (i == 0) break;
    }
  }
  return data;
}

inline SweepParameter numbers(const std::string& name, const std::vector<std::int64_t>& values) {
  SweepParameter parameter{name, {}};
  for (const std::int64_t value : values) {
    parameter.values.push_back({std::to_string(value), static_cast<double>(value)});
  }
  return parameter;
}

inline SweepParameter words(const std::string& name, const std::vector<std::string>& values) {
  SweepParameter parameter{name, {}};
  for (const std::string& value : values) parameter.values.push_back({value, {}});
  return parameter;
}

// A run that took `steps` steps of about `mean_ns`: the first is warm-up, the others vary by ±1 %.
inline SweepRun good_run(std::size_t cell, std::int64_t round, double mean_ns,
                         std::int64_t steps = 41) {
  SweepRun run;
  run.cell = cell;
  run.round = round;
  run.exit_code = 0;
  run.input_seen = true;
  run.peak_rss_bytes = 100'000'000;
  run.available_bytes = 1'000'000'000;
  run.cpu_user_ns = 1'000'000'000;
  run.loop_ns = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double waver = 1 + 0.01 * static_cast<double>((i * 7 + round) % 5 - 2) / 2;
    const auto ns = static_cast<std::int64_t>(mean_ns * (i == 0 ? 5 : waver));
    run.steps.push_back({i + 1, ns, ns / 4, i > 0});
    if (i > 0) *run.loop_ns += ns;
  }
  return run;
}

inline SweepRun failed_run(std::size_t cell, SweepOutcome outcome, const std::string& cause) {
  SweepRun run;
  run.cell = cell;
  run.round = 1;
  run.outcome = outcome;
  run.cause = cause;
  return run;
}

// Three rounds of every cell; `mean_ns` says what a step of it takes, 0: it ran out of memory. Each
// round differs from the others by half a percent.
inline void add_runs(SweepData& data, const std::function<double(const SweepCell&)>& mean_ns,
                     const std::function<double(const SweepCell&)>& samples = nullptr) {
  for (std::int64_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < data.plan.cells.size(); ++i) {
      const double mean = mean_ns(data.plan.cells[i]);
      if (mean <= 0) {
        if (round == 1) {
          data.runs.push_back(
              failed_run(i, SweepOutcome::kOutOfMemory, "ran out of memory: std::bad_alloc"));
        }
        continue;
      }
      const double process =
          1 + 0.005 * static_cast<double>((i + static_cast<std::size_t>(round)) % 3);
      SweepRun run = good_run(i, round, mean * process);
      if (samples) run.samples_per_step = samples(data.plan.cells[i]);
      data.runs.push_back(std::move(run));
    }
  }
}

}  // namespace stepscope::testing
