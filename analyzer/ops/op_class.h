// What kind of work an op is, from its name and scope.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "store/events.h"

namespace stepscope {

enum class OpClass : std::uint8_t {
  kWork,           // compute, and the framework's overhead
  kCommunication,  // a collective or point-to-point call of torch.distributed
  kLabel,          // a user's range: names a stretch, does no work itself
  kTransparent,    // a range that libtorch or a profiler puts around other marks
};

OpClass op_class(std::string_view name, OpScope scope);

// Whether a scope is a call of another runtime that computes, as
// profiler/python/stepscope/_torch.py marks them: its time is compute, as an op's is.
bool is_runtime_call(std::string_view scope);

// Whether an op of this name takes a parameter of a model in nearly every program: a linear layer,
// a convolution, an embedding, a normalisation, a recurrent layer or a matrix product.
bool uses_weight(std::string_view name);

// Whether an op of this name makes, fills, moves or views tensors, as the initialisation of a model
// does layer by layer: such an op computes nothing.
bool fills_tensors(std::string_view name);

inline bool is_backward(const Op& op) {
  return op.phase == PhaseKind::kBackward || op.scope == OpScope::kBackwardFunction;
}

// op_class() for the ops of one store, cached per name.
class OpClasses {
 public:
  explicit OpClasses(std::function<std::string_view(StringId)> text) : text_(std::move(text)) {}

  OpClass of(const Op& op);
  bool uses_weight(const Op& op);    // stepscope::uses_weight() of its name; false for a range
  bool fills_tensors(const Op& op);  // the same

 private:
  using Known = std::unordered_map<StringId, bool>;
  bool ask(Known& known, bool (*question)(std::string_view), const Op& op);

  std::function<std::string_view(StringId)> text_;
  std::unordered_map<std::uint64_t, OpClass> known_;
  Known weighted_, filling_;
};

}  // namespace stepscope
