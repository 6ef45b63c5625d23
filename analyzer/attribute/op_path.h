// Which ops an op ran inside of: "aten::conv2d > aten::convolution > aten::mkldnn_convolution". A
// what-if question about conv2d is about everything inside it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "store/events.h"

namespace stepscope {

// A path of an OpPaths; kTop: in no op.
enum class OpPath : std::uint32_t { kTop = 0 };

// All paths that occur, each once, as a tree of names. Its size is bounded by the number of
// different call chains, not by the number of ops, and by kMaxPaths.
class OpPaths {
 public:
  // More than sampled steps have, unless their names are new in each step.
  static constexpr std::size_t kMaxPaths = std::size_t{1} << 20;

  OpPaths() : nodes_(1) {}

  // The path of an op with this name directly inside `parent`; `parent` once there are kMaxPaths.
  OpPath inside(OpPath parent, StringId name);

  // The innermost op; kNone for kTop.
  [[nodiscard]] StringId name(OpPath path) const { return node(path).name; }
  [[nodiscard]] OpPath parent(OpPath path) const { return node(path).parent; }
  // Ids are 0 … size() - 1; that of a parent is smaller than those of its children.
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
