// Makes a sample of steps represent all analysed steps of a loop.
//
// The sample can differ from the run: slow steps may be missing or too frequent, and the program
// may have become slower after the sampled steps. The steps are therefore divided into strata by
// their time, and within each stratum the sampled steps are scaled to the means of the analysed
// ones, input and the rest separately. A stratum without a sampled step, such as a single stall,
// gets stand-ins: copies of a sampled step with the input that was measured.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/simulate/step_sampler.h"

namespace stepscope {

// The measured times of each step of a loop, in ns.
struct StepTimes {
  std::vector<double> step_ns;
  // Of which the loop's thread waited for input. Empty: not known for each step; input is then
  // scaled like everything else.
  std::vector<double> input_ns;
};

struct RepresentativeSample {
  std::vector<SampledStep> steps;   // in order, with stand-ins
  std::vector<double> measured_ns;  // of these steps, scaled like them
  std::vector<double> weights;      // of their times, so that they represent all analysed steps
  std::size_t stand_ins = 0;
  // How far the sample was from the analysed steps before it was scaled, relative to the mean step:
  double input_gap = 0;  // the input
  double rest_gap = 0;   // everything else, except in stalls without a sampled step
};

// `sampled`: at least one step. `analysed`: the indexes of the steps to represent, in order.
RepresentativeSample represent(std::vector<SampledStep> sampled, const StepTimes& times,
                               const std::vector<std::size_t>& analysed);

}  // namespace stepscope
