// A BERT-like classifier: token and position embeddings, a transformer encoder, one linear layer on
// the first token.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformercoder.h>

#include <cstdint>

#include "samples/cpp/encoder/options.h"

namespace encoder {

struct ModelSize {
  std::int64_t vocabulary = 0;
  std::int64_t longest = 0;  // positions
  std::int64_t width = 256;  // a multiple of kHeads
  std::int64_t layers = 4;
  std::int64_t classes = 2;
};

class ClassifierImpl : public torch::nn::Module {
 public:
  explicit ClassifierImpl(const ModelSize& size);

  // `tokens`: [sentences, tokens], int64, padded with kPad. Returns [sentences, classes].
  torch::Tensor forward(const torch::Tensor& tokens);

 private:
  torch::nn::Embedding tokens_;
  torch::nn::Embedding positions_;
  torch::nn::TransformerEncoder encoder_;
  torch::nn::Linear head_;
};
TORCH_MODULE(Classifier);

}  // namespace encoder
