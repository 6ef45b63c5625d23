// One transformer encoder in two formats: the same ops with the same weights, called from C++ or
// run by TorchScript.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "samples/cpp/serve/options.h"

namespace serve {

inline constexpr std::int64_t kVocabulary = 8'000;

struct Linear {
  torch::Tensor weight;  // [out, in]; of a layer norm [width]
  torch::Tensor bias;    // [out]
};

// A pre-norm layer: attention, then two linear layers with a GELU between.
struct Layer {
  Linear norm1, qkv, out, norm2, up, down;
};

struct Weights {
  torch::Tensor tokens;     // [vocabulary, width]
  torch::Tensor positions;  // [longest, width]
  std::vector<Layer> layers;
};

Weights make_weights(std::int64_t longest, std::int64_t width, std::int64_t layers);

class Model {
 public:
  virtual ~Model() = default;
  // `tokens`: [batch, length], int64. Returns [batch, width]: the first token's encoding.
  virtual torch::Tensor forward(const torch::Tensor& tokens) = 0;
};

std::unique_ptr<Model> make_model(Format format, Weights weights);

}  // namespace serve
