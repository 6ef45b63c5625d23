// The mistakes that need a GPU. Not yet verified on one. The C++ twin of gpu_mistakes.py.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mistakes {

// What is called on what.
struct GpuProgram {
  std::vector<torch::Tensor> batches;                          // a few, served again and again
  std::function<torch::Tensor(const torch::Tensor&)> prepare;  // on the CPU; empty: they are ready
  std::function<torch::Tensor(const torch::Tensor&)> call;     // gives one value
  bool read_each = true;                                       // else once at the end
};

// By name; `fixed`: mended. To be called where there is a GPU.
extern const std::map<std::string, GpuProgram (*)(bool fixed)> kGpuMistakes;

// The sum of what the calls gave.
double serve_on_gpu(const GpuProgram& program, int calls);

}  // namespace mistakes
