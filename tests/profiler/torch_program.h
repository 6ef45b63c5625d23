// A small training loop for tests of the hooks: an MLP, a step at a time.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

namespace stepscope {

class SmallTraining {
 public:
  SmallTraining()
      : model_(torch::nn::Linear(16, 8), torch::nn::ReLU(), torch::nn::Linear(8, 4)),
        optimizer_(model_->parameters(), torch::optim::AdamOptions(1e-3)) {}

  double step(const torch::Tensor& batch) {
    optimizer_.zero_grad();
    const torch::Tensor loss = model_->forward(batch).square().mean();
    loss.backward();
    optimizer_.step();
    return loss.item<double>();
  }
  static std::vector<torch::Tensor> batches(int count) {
    std::vector<torch::Tensor> all;
    for (int i = 0; i < count; ++i) all.push_back(torch::ones({4, 16}));
    return all;
  }

 private:
  torch::nn::Sequential model_;
  torch::optim::Adam optimizer_;
};

}  // namespace stepscope
