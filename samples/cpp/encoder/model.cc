#include "samples/cpp/encoder/model.h"

#include <torch/nn/modules/transformerlayer.h>

#include "samples/cpp/encoder/tokenizer.h"

namespace encoder {
namespace {

namespace nn = torch::nn;

nn::TransformerEncoder make_encoder(const ModelSize& size) {
  const auto layer = nn::TransformerEncoderLayerOptions(size.width, kHeads)
                         .dim_feedforward(4 * size.width)
                         .activation(torch::kGELU);
  return nn::TransformerEncoder(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayer(layer), size.layers));
}

}  // namespace

ClassifierImpl::ClassifierImpl(const ModelSize& size)
    : tokens_(register_module(
          "tokens",
          nn::Embedding(nn::EmbeddingOptions(size.vocabulary, size.width).padding_idx(kPad)))),
      positions_(register_module("positions", nn::Embedding(size.longest, size.width))),
      encoder_(register_module("encoder", make_encoder(size))),
      head_(register_module("head", nn::Linear(size.width, size.classes))) {}

torch::Tensor ClassifierImpl::forward(const torch::Tensor& tokens) {
  const torch::Tensor positions = torch::arange(tokens.size(1), tokens.options());
  const torch::Tensor embedded = tokens_->forward(tokens) + positions_->forward(positions);
  // [tokens, sentences, width], and a mask [sentences, tokens] that is true for padding.
  const torch::Tensor encoded = encoder_->forward(embedded.transpose(0, 1), {}, tokens.eq(kPad));
  return head_->forward(encoded[0]);
}

}  // namespace encoder
