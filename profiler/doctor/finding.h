// One row of the output of `stepscope doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope {

enum class FindingState : std::uint8_t {
  kOk,
  kMissing,  // without it `stepscope run` does not record ops
  kNote,     // for information; ops are recorded anyway
};

struct Finding {
  std::string id;  // for scripts: "libtorch", "op-hooks"; docs/cli.md lists them
  FindingState state = FindingState::kOk;
  std::string what;    // "libtorch 2.13.0"
  std::string detail;  // its location, or what is wrong
  std::string fix;     // a command; empty if nothing needs fixing, or no command can fix it
};

using Findings = std::vector<Finding>;

}  // namespace stepscope
