// The frames of all call stacks as a tree: a frame is identified by its line and its caller.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/recorder/stack_batch.h"

namespace stepscope {

class FrameTree {
 public:
  // Once the tree has this many, a stack is cut to its outer frames that are already in the tree.
  static constexpr std::size_t kMaxFrames = 200'000;

  // A number for a function, for frame().
  std::uint32_t function_of(const std::string& file, const std::string& name);
  // The frame of `function` at `line`, called from `caller` (0: none); `caller` itself once there
  // are too many frames. A new frame is added to `found`.
  std::uint32_t frame(std::uint32_t caller, std::uint32_t function, int line,
                      std::vector<StackBatch::Frame>& found);

 private:
  std::vector<std::pair<std::string, std::string>> functions_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> function_ids_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, int>, std::uint32_t> ids_;
};

}  // namespace stepscope
