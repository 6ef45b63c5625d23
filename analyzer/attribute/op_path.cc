#include "analyzer/attribute/op_path.h"

namespace stepscope {

OpPath OpPaths::inside(OpPath parent, StringId name) {
  if (nodes_.size() >= kMaxPaths) return parent;
  const std::uint64_t key =
      static_cast<std::uint64_t>(parent) << 32 | static_cast<std::uint64_t>(name);
  const auto [it, added] = known_.try_emplace(key, static_cast<OpPath>(nodes_.size()));
  if (added) nodes_.push_back({parent, name});
  return it->second;
}

}  // namespace stepscope
