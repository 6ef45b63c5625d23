// A frame of `stepscope top`, as lines for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/live/live_run.h"

namespace stepscope {

struct TopOptions {
  std::size_t width = 100;  // columns; at least 40 are used
  std::size_t height = 0;   // lines at most; 0: as many as there are
  std::size_t top_ops = 8;
  bool color = false;
};

// The most important lines come first; those that do not fit the height are left out. No line is
// wider than the options allow.
std::vector<std::string> top_lines(const LiveFrame& frame, const TopOptions& options);

}  // namespace stepscope
