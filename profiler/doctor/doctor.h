// Checks everything that recording needs, and reports what is available and what is missing.
#pragma once

#include <optional>
#include <vector>

#include "profiler/doctor/build_hooks.h"
#include "profiler/doctor/find_torch.h"
#include "profiler/doctor/finding.h"
#include "profiler/doctor/torch_coverage.h"
#include "profiler/session/hook_places.h"

namespace stepscope {

// The hooks that a program with this libtorch would get.
struct HookCheck {
  std::optional<HookPlace> place;  // of working hooks
  std::string why;                 // if none work
  std::string fix;                 // the command that fixes it
};

HookCheck check_hooks(const TorchInstall& torch, const Installation& installed);

struct Diagnosis {
  Findings findings;                   // in reading order
  std::vector<TorchCoverage> torches;  // each libtorch that was found, in the findings' order
};

// Starts Pythons, compilers and processes that load libtorch, which takes a few seconds.
// Thread safety: that of try_hooks().
Diagnosis diagnose(const TorchQuery& query, const Installation& installed);

// Whether `stepscope run` would record ops of each libtorch in use: nothing is missing.
bool records_ops(const Findings& findings);

}  // namespace stepscope
