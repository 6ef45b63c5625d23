// Runs to compare, made by hand: their truth is known.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analyzer/report.h"
#include "analyzer/verdict/summary.h"

namespace stepscope::testing {

// Mean 1, standard deviation `spread`, and neighbours that are correlated by `phi`.
inline std::vector<double> correlated(std::mt19937& random, std::size_t count, double phi,
                                      double spread = 0.05) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(1 + spread * state);
    state = phi * state + std::sqrt(1 - phi * phi) * normal(random);
  }
  return values;
}

inline constexpr double kMs = 1e6;

// A run of one loop, its steps made of categories and its ops of samples, as analyze() leaves them.
class RunBuilder {
 public:
  RunBuilder() {
    report_.run.torch_version = "2.13.0";
    report_.run.cpu_count = 2;
    report_.run.hosts = {"host"};
    report_.op_count = 1000;
  }

  // A loop of a warm-up step of a second, which must not matter, and of these.
  RunBuilder& loop(std::int64_t rank = -1) {
    report_.loops.emplace_back();
    LoopReport& loop = report_.loops.back();
    loop.rank = rank;
    loop.pid = 42;
    loop.marker = StepMarker::kLoader;
    loop.trains = true;
    loop.ops_recorded = true;
    loop.warm_up = 1;
    add_step({{Category::kCompute, PhaseKind::kForward, 1000 * kMs}}, false);
    return *this;
  }

  struct Part {
    Category category;
    PhaseKind phase;
    double ns;
  };

  RunBuilder& add_step(const std::vector<Part>& parts, bool steady = true) {
    LoopReport& loop = report_.loops.back();
    Step step;
    step.number = static_cast<std::int64_t>(loop.steps.size()) + 1;
    step.steady = steady;
    for (const Part& part : parts) {
      const Duration exposed(std::llround(part.ns));
      step.times.push_back({part.category, part.phase, "", exposed, Duration(0)});
      step.dur += exposed;
    }
    if (steady) loop.analysed.push_back(loop.steps.size());
    loop.steps.push_back(std::move(step));
    if (steady) loop.step_phases.push_back(phase_means(loop.steps, {loop.steps.size() - 1}));
    loop.shares = exposed_shares(loop.steps, loop.analysed);
    return *this;
  }

  // `ms` of compute and `input_ms` of input in each step, times what `noise` says.
  RunBuilder& steps(const std::vector<double>& noise, double ms, double input_ms) {
    for (const double factor : noise) {
      add_step({{Category::kInput, PhaseKind::kInput, input_ms * factor * kMs},
                {Category::kCompute, PhaseKind::kForward, ms * factor * kMs}});
    }
    return *this;
  }

  // The i-th analysed step has calls[i] calls of 1 µs × noise[i] each; all steps are blocks.
  RunBuilder& op(const std::string& name, const std::vector<double>& noise, std::int64_t calls) {
    LoopReport& loop = report_.loops.back();
    loop.op_blocks.assign(noise.size(), 1);
    OpRow row{name, "forward", 0, 0, 0, {}};
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const auto self = std::llround(1e3 * noise[i] * static_cast<double>(calls));
      row.samples.push_back({i, calls, self});
      row.calls += calls;
      row.self_ns += self;
    }
    loop.ops.push_back(std::move(row));
    return *this;
  }

  // The same of a kernel.
  RunBuilder& kernel(const std::string& name, const std::vector<double>& noise,
                     std::int64_t calls) {
    LoopReport& loop = report_.loops.back();
    loop.kernel_blocks.assign(noise.size(), 1);
    KernelRow row;
    row.name = name;
    row.phase = "backward";
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const auto ns = std::llround(1e3 * noise[i] * static_cast<double>(calls));
      row.samples.push_back({i, calls, ns});
    }
    loop.kernels.push_back(std::move(row));
    return *this;
  }

  AnalysisReport& report() { return report_; }

 private:
  AnalysisReport report_;
};

}  // namespace stepscope::testing
