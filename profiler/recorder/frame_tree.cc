#include "profiler/recorder/frame_tree.h"

namespace stepscope {

std::uint32_t FrameTree::function_of(const std::string& file, const std::string& name) {
  const auto next = static_cast<std::uint32_t>(functions_.size());
  const auto [known, is_new] = function_ids_.try_emplace({file, name}, next);
  if (is_new) functions_.emplace_back(file, name);
  return known->second;
}

std::uint32_t FrameTree::frame(std::uint32_t caller, std::uint32_t function, int line,
                               std::vector<StackBatch::Frame>& found) {
  const std::tuple key(caller, function, line);
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  if (ids_.size() >= kMaxFrames) return caller;
  const auto& [file, name] = functions_[function];
  found.push_back({caller, name.empty() ? "?" : name, file.empty() ? "?" : file, line});
  const auto id = static_cast<std::uint32_t>(ids_.size() + 1);
  ids_.emplace(key, id);
  return id;
}

}  // namespace stepscope
