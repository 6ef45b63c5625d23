// The models of the sample: a transformer encoder that classifies sentences, a small network of
// convolutions.
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>

namespace mistakes {

inline constexpr std::int64_t kWords = 1000;
inline constexpr std::int64_t kClasses = 4;

struct EncoderSize {
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t layers = 4;
};

// Self-attention; `padding` [batch, length] is true where there is no token.
struct AttentionImpl : torch::nn::Module {
  AttentionImpl(std::int64_t width, std::int64_t head_count)
      : heads(head_count),
        into(register_module("into", torch::nn::Linear(width, 3 * width))),
        out(register_module("out", torch::nn::Linear(width, width))) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& padding) {
    const std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto split = [&](const torch::Tensor& part) {
      return part.view({batch, length, heads, width / heads}).transpose(1, 2);
    };
    const std::vector<torch::Tensor> parts = into(x).chunk(3, -1);
    const double scale = std::sqrt(static_cast<double>(width) / static_cast<double>(heads));
    torch::Tensor scores =
        torch::matmul(split(parts[0]), split(parts[1]).transpose(-2, -1)) / scale;
    scores = scores.masked_fill(padding.unsqueeze(1).unsqueeze(1), -1e9);
    const torch::Tensor read = torch::matmul(scores.softmax(-1), split(parts[2]));
    return out(read.transpose(1, 2).reshape({batch, length, width}));
  }

  std::int64_t heads;
  torch::nn::Linear into, out;
};
TORCH_MODULE(Attention);

struct LayerImpl : torch::nn::Module {
  LayerImpl(std::int64_t width, std::int64_t heads)
      : attention(register_module("attention", Attention(width, heads))),
        up(register_module("up", torch::nn::Linear(width, 2 * width))),
        down(register_module("down", torch::nn::Linear(2 * width, width))),
        before(register_module("before", norm(width))),
        between(register_module("between", norm(width))) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& padding) {
    const torch::Tensor seen = x + attention(before(x), padding);
    return seen + down(torch::relu(up(between(seen))));
  }

  static torch::nn::LayerNorm norm(std::int64_t width) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
  }

  Attention attention;
  torch::nn::Linear up, down;
  torch::nn::LayerNorm before, between;
};
TORCH_MODULE(Layer);

// Maps tokens [batch, length], 0 for padding, to logits [batch, classes].
struct EncoderImpl : torch::nn::Module {
  explicit EncoderImpl(const EncoderSize& size)
      : words(register_module("words", torch::nn::Embedding(kWords, size.width))),
        classify(register_module("classify", torch::nn::Linear(size.width, kClasses))) {
    for (std::int64_t i = 0; i < size.layers; ++i) layers->push_back(Layer(size.width, size.heads));
    register_module("layers", layers);
  }

  torch::Tensor forward(const torch::Tensor& tokens) {
    const torch::Tensor padding = tokens == 0;
    torch::Tensor x = words(tokens);
    for (const auto& layer : *layers) x = layer->as<Layer>()->forward(x, padding);
    return classify(x.select(1, 0));
  }

  torch::nn::Embedding words;
  torch::nn::ModuleList layers;
  torch::nn::Linear classify;
};
TORCH_MODULE(Encoder);

// Maps images [batch, 3, 32, 32] to logits; with batch norm and dropout.
inline torch::nn::Sequential conv_net(std::int64_t width = 24, int blocks = 3) {
  torch::nn::Sequential net;
  std::int64_t channels = 3;
  for (int i = 0; i < blocks; ++i, channels = width) {
    net->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, width, 3).padding(1)));
    net->push_back(torch::nn::BatchNorm2d(width));
    net->push_back(torch::nn::ReLU());
    net->push_back(torch::nn::Dropout(0.2));
  }
  net->push_back(torch::nn::AdaptiveAvgPool2d(1));
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(width, kClasses));
  return net;
}

}  // namespace mistakes
