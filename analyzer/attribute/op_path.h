// Which ops an op ran inside of: "aten::conv2d > aten::convolution > aten::mkldnn_convolution".
// Whoever asks what becomes of a step when conv2d is twice as fast means all of that.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "store/events.h"

namespace stepscope {

// A path of an OpPaths; kTop: in no op.
enum class OpPath : std::uint32_t { kTop = 0 };

// All paths that occur, each once: a tree of names. Bounded by the number of different call chains,
// not by the number of ops, and by kMostPaths.
class OpPaths {
 public:
  // More than sampled steps have, but for names that are new in each step.
  static constexpr std::size_t kMostPaths = std::size_t{1} << 20;

  OpPaths() : nodes_(1) {}

  // The path of an op of this name directly inside of `parent`; `parent` once there are kMostPaths.
  OpPath inside(OpPath parent, StringId name);

  // The innermost op; kNone for kTop.
  [[nodiscard]] StringId name(OpPath path) const { return node(path).name; }
  [[nodiscard]] OpPath parent(OpPath path) const { return node(path).parent; }
  // Ids are 0 … size() - 1; a parent's is smaller than its children's.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    OpPath parent = OpPath::kTop;
    StringId name = StringId::kNone;
  };
  [[nodiscard]] const Node& node(OpPath path) const {
    return nodes_[static_cast<std::size_t>(path)];
  }

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, OpPath> known_;  // by parent and name
};

}  // namespace stepscope
