#include "present/op_words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope {
namespace {

// Beginnings of op names, without the namespace. The first match counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kMeanings{{
    {"bernoulli", "dropout"},
    {"native_dropout", "dropout"},
    {"addmm", "matrix product"},
    {"addmv", "matrix product"},
    {"baddbmm", "matrix product"},
    {"mm", "matrix product"},
    {"bmm", "matrix product"},
    {"mkldnn_convolution", "convolution"},
    {"cudnn_convolution", "convolution"},
    {"_slow_conv", "convolution"},
    {"thnn_conv", "convolution"},
    {"native_batch_norm", "batch normalization"},
    {"cudnn_batch_norm", "batch normalization"},
    {"_batch_norm", "batch normalization"},
    {"native_layer_norm", "layer normalization"},
    {"native_group_norm", "group normalization"},
    {"_softmax", "softmax"},
    {"_log_softmax", "softmax"},
    {"_scaled_dot_product", "attention"},
    {"_flash_attention", "attention"},
    {"_efficient_attention", "attention"},
    {"_fused_", "optimizer"},
    {"mkldnn_rnn", "recurrent layer"},
    {"copy_", "copy or change of type"},
}};

}  // namespace

std::string_view op_meaning(std::string_view name) {
  const std::size_t colons = name.rfind("::");
  if (colons != std::string_view::npos) name.remove_prefix(colons + 2);
  const auto found = std::find_if(kMeanings.begin(), kMeanings.end(), [name](const auto& entry) {
    return name.starts_with(entry.first);
  });
  return found == kMeanings.end() ? "" : found->second;
}

std::string with_meaning(const std::string& name) {
  const std::string_view meaning = op_meaning(name);
  return meaning.empty() ? name : name + " (" + std::string(meaning) + ")";
}

}  // namespace stepscope
