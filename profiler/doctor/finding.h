// One row of what `stepscope doctor` says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope {

enum class FindingState : std::uint8_t {
  kOk,
  kMissing,  // without it `stepscope run` does not record ops
  kNote,     // good to know; ops are recorded all the same
};

struct Finding {
  std::string id;  // for scripts: "libtorch", "op-hooks"; docs/cli.md lists them
  FindingState state = FindingState::kOk;
  std::string what;    // "libtorch 2.13.0"
  std::string detail;  // where it is, or what is wrong
  std::string fix;     // a command; empty where nothing needs fixing, or no command would
};

using Findings = std::vector<Finding>;

}  // namespace stepscope
