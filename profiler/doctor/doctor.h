// Looks at everything that recording needs, and says what is there and what is not.
#pragma once

#include <optional>

#include "profiler/doctor/build_hooks.h"
#include "profiler/doctor/find_torch.h"
#include "profiler/doctor/finding.h"
#include "profiler/session/hook_places.h"

namespace stepscope {

// The hooks for a libtorch as they are met by a program that has loaded it.
struct HookCheck {
  std::optional<HookPlace> place;  // of those that work
  std::string why;                 // when none do
  std::string fix;                 // the command for that
};

HookCheck check_hooks(const TorchInstall& torch, const Installation& installed);

// In the order in which they are to be read. Starts Pythons, compilers and processes that load
// libtorch: takes a second or a few. Thread safety: that of try_hooks().
Findings diagnose(const TorchQuery& query, const Installation& installed);

// Whether `stepscope run` would record ops of each libtorch found: nothing is missing.
bool records_ops(const Findings& findings);

}  // namespace stepscope
