// Loads the hook library that was built for the libtorch in this process.
#pragma once

#include "profiler/hook_api.h"
#include "profiler/process/loaded_libraries.h"
#include "profiler/process/loaded_torch.h"
#include "store/status.h"

namespace stepscope {

// The hooks for `torch`, from the first of hook_places() whose library works with it. The library
// stays loaded. Errors: kUnavailable, with the command that builds the hooks.
Result<const HookApi*> load_hooks(const LoadedTorch& torch);

}  // namespace stepscope
