// A training loop with the three lines that the documentation promises are enough.
#include <stepscope/stepscope.h>
#include <torch/torch.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  stepscope::Recording recording({.output = argv[1], .budget = 0});

  torch::nn::Linear model(16, 4);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const std::vector<torch::Tensor> batches(40, torch::ones({8, 16}));
  for (const auto& batch : stepscope::input(batches)) {
    optimizer.zero_grad();
    model->forward(batch).square().mean().backward();
    optimizer.step();
  }
  return 0;
}
