// The folders of a control group (cgroup).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace stepscope {

// Calls visit(folder) with `folder` and with each one above it, up to `root`, with which it begins.
// In a container, a group is mounted as the root, but its path is the one outside the container and
// does not exist here.
template <typename Visit>
void visit_group_levels(std::string folder, std::string_view root, Visit visit) {
  while (true) {
    visit(folder);
    if (folder.size() <= root.size()) return;
    folder.resize(std::max(folder.rfind('/'), root.size()));
  }
}

}  // namespace stepscope
