// A plugin that trains, and that its program unloads again.
#include <torch/torch.h>

extern "C" __attribute__((visibility("default"))) void train(int steps) {
  torch::nn::Linear model(8, 1);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05));
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    model->forward(torch::ones({4, 8})).sum().backward();
    optimizer.step();
  }
}
