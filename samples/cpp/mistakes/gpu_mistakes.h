// The mistakes that need a GPU. The C++ twin of gpu_mistakes.py.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mistakes {

// The calls and their inputs.
struct GpuProgram {
  std::vector<torch::Tensor> batches;                          // a few, reused
  std::function<torch::Tensor(const torch::Tensor&)> prepare;  // on the CPU; may be empty
  std::function<torch::Tensor(const torch::Tensor&)> call;     // returns one value
  bool read_each = true;                                       // false: read once, at the end
};

// By the name of the mistake. `fixed`: without it. Requires a GPU.
extern const std::map<std::string, GpuProgram (*)(bool fixed)> kGpuMistakes;

// The sum of the results of the calls.
double serve_on_gpu(const GpuProgram& program, int calls);

}  // namespace mistakes
