// What Stepscope records in programs that load a certain libtorch.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "profiler/doctor/find_torch.h"

namespace stepscope {

enum class CoverageState : std::uint8_t {
  kYes,
  kNo,
  kUnknown,  // could not be tried here; `why` says what failed
};

struct Coverage {
  const char* id = "";  // for scripts: "ops", "phases", "lines", "modules"
  CoverageState state = CoverageState::kYes;
  std::string why;  // why not, or what else is needed; may be empty
};

struct TorchCoverage {
  TorchInstall torch;
  std::array<Coverage, 4> parts;  // ops, phases, lines, modules
};

// `ops`: the part that follows from its op hooks. The other parts follow from the libtorch, from
// the Python that imports it, and in part from `ops`. Loads the libtorch in a child process and
// starts that Python. Thread safety: that of ask_child().
TorchCoverage torch_coverage(const TorchInstall& torch, const Coverage& ops);

}  // namespace stepscope
