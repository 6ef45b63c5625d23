// Runs something that may fail in any way, such as loading a library, in a separate process.
#pragma once

#include <functional>
#include <string>

namespace stepscope {

struct ChildAnswer {
  bool answered = false;
  std::string text;  // the answer, at most 2,047 bytes; or how the child died
};

// Runs `work` in a child whose output is discarded. Thread safety: forks, so only while the process
// has one thread.
ChildAnswer ask_child(const std::function<std::string()>& work);

}  // namespace stepscope
