#include "samples/cpp/mistakes/gpu_mistakes.h"

#include <stepscope/stepscope.h>

#include <cstddef>
#include <ranges>
#include <tuple>

#include "samples/cpp/mistakes/models.h"

namespace mistakes {
namespace {

constexpr int kDistinct = 8;

torch::nn::Sequential dense(std::int64_t width, int layers) {
  torch::nn::Sequential net;
  for (int i = 0; i < layers; ++i) {
    net->push_back(torch::nn::Linear(width, width));
    net->push_back(torch::nn::ReLU());
  }
  net->eval();
  return net;
}

torch::Tensor to_device(const torch::Tensor& batch) {
  return batch.to(torch::kCUDA, /*non_blocking=*/true);
}

std::vector<torch::Tensor> random_batches(at::IntArrayRef sizes, bool pinned) {
  std::vector<torch::Tensor> batches;
  for (int i = 0; i < kDistinct; ++i) {
    const torch::Tensor batch = torch::rand(sizes);
    batches.push_back(pinned ? batch.pin_memory() : batch);
  }
  return batches;
}

// Calls `net` and returns the largest output.
std::function<torch::Tensor(const torch::Tensor&)> largest(torch::nn::Sequential net) {
  return
      [net](const torch::Tensor& batch) mutable { return net->forward(to_device(batch)).amax(); };
}

// Batches of 32 MB in pageable memory: the copying call waits.
GpuProgram pageable(bool fixed) {
  torch::nn::Sequential net = dense(2048, 4);
  net->to(torch::kCUDA);
  GpuProgram program{random_batches({4096, 2048}, fixed), {}, {}, false};
  program.call = [net, fixed](const torch::Tensor& batch) mutable {
    return net->forward(batch.to(torch::kCUDA, fixed)).amax();
  };
  return program;
}

// Each result is read at once: the GPU is idle while the CPU prepares the next batch.
GpuProgram sync(bool fixed) {
  torch::nn::Sequential net = dense(4096, 8);
  net->to(torch::kCUDA);
  GpuProgram program{random_batches({1024, 4096}, false), {}, largest(net), !fixed};
  program.prepare = [](const torch::Tensor& batch) { return (batch / 255).pin_memory(); };
  return program;
}

// The work after the model still runs on the CPU.
GpuProgram host(bool fixed) {
  torch::nn::Sequential net = dense(4096, 4);
  net->to(torch::kCUDA);
  GpuProgram program{random_batches({512, 4096}, true), {}, {}, true};
  program.call = [net, fixed](const torch::Tensor& batch) mutable {
    torch::Tensor scores = net->forward(to_device(batch));
    if (!fixed) scores = scores.cpu();
    return std::get<0>(scores.sort(1, /*descending=*/true)).slice(1, 0, 5).sum();
  };
  return program;
}

// Convolutions of a single shape, with the algorithm that cuDNN guesses.
GpuProgram cudnn(bool fixed) {
  at::globalContext().setBenchmarkCuDNN(fixed);
  torch::nn::Sequential net = conv_net(128, 6);
  net->to(torch::kCUDA);
  net->eval();
  return {random_batches({64, 3, 32, 32}, true), {}, largest(net), true};
}

// The model was never moved to the GPU.
GpuProgram idle(bool fixed) {
  torch::nn::Sequential net = conv_net();
  net->eval();
  GpuProgram program{random_batches({16, 3, 32, 32}, fixed), {}, largest(net), true};
  if (fixed) {
    net->to(torch::kCUDA);
  } else {
    program.call = [net](const torch::Tensor& batch) mutable { return net->forward(batch).amax(); };
  }
  return program;
}

}  // namespace

const std::map<std::string, GpuProgram (*)(bool fixed)> kGpuMistakes = {
    {"pageable", pageable}, {"sync", sync}, {"host", host}, {"cudnn", cudnn}, {"idle", idle}};

double serve_on_gpu(const GpuProgram& program, int calls) {
  const torch::NoGradGuard no_grad;
  const auto batch_of = [&program](int call) {
    const torch::Tensor& batch =
        program.batches[static_cast<std::size_t>(call) % program.batches.size()];
    return program.prepare ? program.prepare(batch) : batch;
  };
  double read = 0;
  torch::Tensor unread;
  auto batches = std::views::iota(0, calls) | std::views::transform(batch_of);
  for (const torch::Tensor& batch : stepscope::input(batches, "batches")) {
    const torch::Tensor result = program.call(batch);
    if (program.read_each) {
      read += result.item<double>();
    } else {
      unread = unread.defined() ? unread + result : result;
    }
  }
  return unread.defined() ? read + unread.item<double>() : read;
}

}  // namespace mistakes
