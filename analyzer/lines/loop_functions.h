// The functions that contain the training loop itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analyzer/lines/own_code.h"
#include "analyzer/steps/loop_parts.h"

namespace stepscope {

// A function that is on most stacks of two different parts of the steps calls both of them: it
// contains the loop, or the whole step. "Make it twice as fast" would mean nothing; only its lines
// tell parts of the step apart.
class LoopFunctions {
 public:
  // A sample of the loop's thread in `part`. `innermost`: its innermost frame.
  void add(LoopPart part, FrameId innermost) {
    ++samples_[static_cast<std::size_t>(part)][innermost];
  }

  // The file and name of each, among the frames of `code`.
  [[nodiscard]] std::set<std::pair<StringId, StringId>> find(const OwnCode& code) const;

 private:
  std::array<std::map<FrameId, std::int64_t>, kLoopPartCount> samples_;
};

}  // namespace stepscope
