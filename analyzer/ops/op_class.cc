#include "analyzer/ops/op_class.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

// c10d's dispatcher ops, and the ranges its back ends open ("nccl:all_reduce").
constexpr std::array<std::string_view, 6> kCommunicationPrefixes = {
    "c10d::", "_c10d_functional::", "nccl:", "gloo:", "mpi:", "ucc:"};

// User-scope ranges that torch's Python side opens by itself: a phase stands for each where it
// matters.
constexpr std::array<std::string_view, 4> kTransparentPrefixes = {
    "Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#", "ProfilerStep#"};

// Prefixes: "aten::conv" is convolution and conv1d to conv3d, "aten::linear" the layer. Each model
// begins with one of these ops, apart from ops that move, cast or reshape its batch.
constexpr std::array<std::string_view, 21> kWeightPrefixes = {
    "aten::linear",      "aten::conv",
    "aten::embedding",   "aten::addmm",
    "aten::mm",          "aten::bmm",
    "aten::matmul",      "aten::batch_norm",
    "aten::layer_norm",  "aten::native_batch_norm",
    "aten::group_norm",  "aten::instance_norm",
    "aten::rms_norm",    "aten::lstm",
    "aten::gru",         "aten::rnn_",
    "aten::bilinear",    "aten::prelu",
    "quantized::",       "prepacked::",
    "mkldnn_prepacked::"};

// The initialisers of torch.nn.init are made of these: trunc_normal_ of uniform_, erfinv_, mul_,
// add_ and clamp_.
constexpr std::array<std::string_view, 34> kFillingPrefixes = {"aten::empty",
                                                               "aten::zeros",
                                                               "aten::ones",
                                                               "aten::full",
                                                               "aten::rand",
                                                               "aten::uniform",
                                                               "aten::normal",
                                                               "aten::fill_",
                                                               "aten::zero_",
                                                               "aten::detach",
                                                               "detach",
                                                               "aten::arange",
                                                               "aten::linspace",
                                                               "aten::tensor",
                                                               "aten::lift",
                                                               "aten::_to_copy",
                                                               "aten::copy_",
                                                               "aten::clone",
                                                               "aten::set_",
                                                               "aten::resize_",
                                                               "aten::view",
                                                               "aten::reshape",
                                                               "aten::alias",
                                                               "aten::bernoulli_",
                                                               "aten::erfinv_",
                                                               "aten::clamp_",
                                                               "aten::mul_",
                                                               "aten::add_",
                                                               "aten::div_",
                                                               "aten::item",
                                                               "aten::_local_scalar_dense",
                                                               "aten::requires_grad_",
                                                               "aten::is_",
                                                               "aten::scalar_tensor"};

bool starts_with_any(std::string_view name, auto prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

OpClass op_class(std::string_view name, OpScope scope) {
  if (starts_with_any(name, kCommunicationPrefixes)) return OpClass::kCommunication;
  if (scope != OpScope::kUser) return OpClass::kWork;
  return starts_with_any(name, kTransparentPrefixes) ? OpClass::kTransparent : OpClass::kLabel;
}

bool is_runtime_call(std::string_view scope) { return scope.starts_with("onnxruntime::"); }

bool uses_weight(std::string_view name) { return starts_with_any(name, kWeightPrefixes); }

bool fills_tensors(std::string_view name) {
  return name == "aten::to" || starts_with_any(name, kFillingPrefixes);
}

bool OpClasses::ask(Known& known, bool (*question)(std::string_view), const Op& op) {
  if (op.scope == OpScope::kUser) return false;
  const auto [it, added] = known.try_emplace(op.name, false);
  if (added) it->second = question(text_(op.name));
  return it->second;
}

bool OpClasses::uses_weight(const Op& op) { return ask(weighted_, stepscope::uses_weight, op); }

bool OpClasses::fills_tensors(const Op& op) { return ask(filling_, stepscope::fills_tensors, op); }

OpClass OpClasses::of(const Op& op) {
  const std::uint64_t key = static_cast<std::uint64_t>(op.name) * 2 + (op.scope == OpScope::kUser);
  const auto [it, added] = known_.try_emplace(key, OpClass::kWork);
  if (added) it->second = op_class(text_(op.name), op.scope);
  return it->second;
}

}  // namespace stepscope
