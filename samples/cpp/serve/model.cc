#include "samples/cpp/serve/model.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "samples/cpp/serve/torchscript_model.h"

namespace serve {
namespace {

Linear make_linear(std::int64_t in, std::int64_t out) {
  return {at::randn({out, in}) * 0.02, at::zeros({out})};
}
Linear make_norm(std::int64_t width) { return {at::ones({width}), at::zeros({width})}; }

at::Tensor norm(const at::Tensor& x, const Linear& by) {
  return at::layer_norm(x, {x.size(2)}, by.weight, by.bias);
}
at::Tensor linear(const at::Tensor& x, const Linear& by) {
  return at::linear(x, by.weight, by.bias);
}

// [batch, length, width] -> [batch, heads, length, width / heads]
at::Tensor split_heads(const at::Tensor& x) {
  return x.view({x.size(0), x.size(1), kHeads, -1}).transpose(1, 2);
}

at::Tensor attention(const at::Tensor& x, const Layer& layer) {
  const std::vector<at::Tensor> parts = linear(x, layer.qkv).chunk(3, -1);
  const at::Tensor query = split_heads(parts[0]);
  const double scale = std::pow(static_cast<double>(query.size(3)), -0.5);
  const at::Tensor scores =
      at::softmax(at::matmul(query, split_heads(parts[1]).transpose(2, 3)) * scale, -1);
  const at::Tensor mixed = at::matmul(scores, split_heads(parts[2]));
  return linear(mixed.transpose(1, 2).reshape(x.sizes()), layer.out);
}

class EagerModel final : public Model {
 public:
  explicit EagerModel(Weights weights) : weights_(std::move(weights)) {}

  at::Tensor forward(const at::Tensor& tokens) override {
    at::Tensor x =
        at::embedding(weights_.tokens, tokens) + weights_.positions.slice(0, 0, tokens.size(1));
    for (const Layer& layer : weights_.layers) {
      x = x + attention(norm(x, layer.norm1), layer);
      x = x + linear(at::gelu(linear(norm(x, layer.norm2), layer.up)), layer.down);
    }
    return x.select(1, 0);
  }

 private:
  Weights weights_;
};

}  // namespace

Weights make_weights(std::int64_t longest, std::int64_t width, std::int64_t layers) {
  Weights weights{at::randn({kVocabulary, width}), at::randn({longest, width}), {}};
  for (std::int64_t i = 0; i < layers; ++i) {
    weights.layers.push_back({make_norm(width), make_linear(width, 3 * width),
                              make_linear(width, width), make_norm(width),
                              make_linear(width, 4 * width), make_linear(4 * width, width)});
  }
  return weights;
}

std::unique_ptr<Model> make_model(Format format, Weights weights) {
  if (format == Format::kTorchScript) return make_torchscript_model(weights);
  return std::make_unique<EagerModel>(std::move(weights));
}

}  // namespace serve
