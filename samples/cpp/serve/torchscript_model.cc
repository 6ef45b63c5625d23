#include "samples/cpp/serve/torchscript_model.h"

#include <torch/script.h>

#include <string>

namespace serve {
namespace {

// Each layer is a separate module, so that the source can name its weights.
constexpr const char* kLayerSource = R"(
def forward(self, x):
    batch, length, width = x.size()
    head = width // 4
    h = torch.layer_norm(x, [width], self.norm1_weight, self.norm1_bias)
    q, k, v = torch.chunk(torch.linear(h, self.qkv_weight, self.qkv_bias), 3, -1)
    q = q.view([batch, length, 4, head]).transpose(1, 2)
    k = k.view([batch, length, 4, head]).transpose(1, 2)
    v = v.view([batch, length, 4, head]).transpose(1, 2)
    scores = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * (head ** -0.5), -1)
    mixed = torch.matmul(scores, v).transpose(1, 2).reshape([batch, length, width])
    x = x + torch.linear(mixed, self.out_weight, self.out_bias)
    h = torch.layer_norm(x, [width], self.norm2_weight, self.norm2_bias)
    h = torch.gelu(torch.linear(h, self.up_weight, self.up_bias))
    return x + torch.linear(h, self.down_weight, self.down_bias)
)";
static_assert(kHeads == 4, "the source above says 4");

void register_linear(torch::jit::Module& module, const std::string& name, const Linear& linear) {
  module.register_parameter(name + "_weight", linear.weight, false);
  module.register_parameter(name + "_bias", linear.bias, false);
}

torch::jit::Module make_layer(const Layer& layer, const std::string& name) {
  torch::jit::Module module(name);
  register_linear(module, "norm1", layer.norm1);
  register_linear(module, "qkv", layer.qkv);
  register_linear(module, "out", layer.out);
  register_linear(module, "norm2", layer.norm2);
  register_linear(module, "up", layer.up);
  register_linear(module, "down", layer.down);
  module.define(kLayerSource);
  return module;
}

torch::jit::Module make_module(const Weights& weights) {
  torch::jit::Module module("encoder");
  module.register_parameter("tokens", weights.tokens, false);
  module.register_parameter("positions", weights.positions, false);
  std::string source =
      "def forward(self, tokens):\n"
      "    x = torch.embedding(self.tokens, tokens) + self.positions[:tokens.size(1)]\n";
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = "layer" + std::to_string(i);
    module.register_module(name, make_layer(weights.layers[i], name));
    source += "    x = self." + name + ".forward(x)\n";
  }
  module.define(source + "    return torch.select(x, 1, 0)\n");
  module.eval();
  return torch::jit::freeze(module);
}

class TorchScriptModel final : public Model {
 public:
  explicit TorchScriptModel(const Weights& weights) : module_(make_module(weights)) {}

  torch::Tensor forward(const torch::Tensor& tokens) override {
    return module_.forward({tokens}).toTensor();
  }

 private:
  torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<Model> make_torchscript_model(const Weights& weights) {
  return std::make_unique<TorchScriptModel>(weights);
}

}  // namespace serve
