// Something that may go wrong in any way, such as the loading of a library, in a process of its
// own.
#pragma once

#include <functional>
#include <string>

namespace stepscope {

struct ChildAnswer {
  bool answered = false;
  std::string text;  // the answer, at most 2,047 bytes of it; or how the child died
};

// Runs `work` in a child whose output nobody sees. Thread safety: forks, so only while the process
// has one thread.
ChildAnswer ask_child(const std::function<std::string()>& work);

}  // namespace stepscope
