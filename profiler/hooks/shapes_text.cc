#include "profiler/hooks/shapes_text.h"

#include <ATen/core/ivalue.h>

#include <string>

namespace stepscope {
namespace {

template <typename Values, typename Append>
void append_list(std::string& text, const Values& values, Append append) {
  text += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) text += ',';
    first = false;
    append(value);
  }
  text += ']';
}

void append_shape(std::string& text, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    text += "[]";
    return;
  }
  const std::size_t before = text.size();
  try {
    append_list(text, tensor.sizes(), [&](std::int64_t size) { text += std::to_string(size); });
  } catch (...) {  // nested and symbolic tensors have no plain sizes and throw
    text.resize(before);
    text += "[]";
  }
}

}  // namespace

std::string_view shapes_text(const at::RecordFunction& fn) {
  thread_local std::string text;
  text.clear();
  append_list(text, fn.inputs(), [&](const c10::IValue& input) {
    if (input.isTensor()) {
      append_shape(text, input.toTensor());
    } else if (input.isTensorList()) {
      const auto tensors = input.toTensorVector();
      append_list(text, tensors, [&](const at::Tensor& tensor) { append_shape(text, tensor); });
    } else {
      text += "[]";
    }
  });
  return text;
}

}  // namespace stepscope
