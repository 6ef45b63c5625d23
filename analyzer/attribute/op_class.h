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

inline bool is_backward(const Op& op) {
  return op.phase == PhaseKind::kBackward || op.scope == OpScope::kBackwardFunction;
}

// op_class() for the ops of one store, cached per name.
class OpClasses {
 public:
  explicit OpClasses(std::function<std::string_view(StringId)> text) : text_(std::move(text)) {}

  OpClass of(const Op& op);

 private:
  std::function<std::string_view(StringId)> text_;
  std::unordered_map<std::uint64_t, OpClass> known_;
};

}  // namespace stepscope
