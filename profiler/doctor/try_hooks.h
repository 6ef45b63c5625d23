// Whether hooks load into a process with their libtorch: the only answer that can be relied on, as
// it is also a matter of compilers' ABIs and of the C++ runtime.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "profiler/doctor/find_torch.h"

namespace stepscope {

enum class HookTrial : std::uint8_t {
  kWork,
  kRefused,           // they do not belong to this libtorch, or cannot be loaded
  kTorchDoesNotLoad,  // libtorch itself cannot be loaded outside of its program: nothing is known
};

struct HookTrialResult {
  HookTrial outcome = HookTrial::kWork;
  std::string why;  // empty: they work
};

// Loads libtorch, `libstepscope` and `hooks`, in this order, in a child process. Takes a second or
// so. Thread safety: forks, so only while the process has one thread.
HookTrialResult try_hooks(const std::filesystem::path& hooks,
                          const std::filesystem::path& libstepscope, const TorchInstall& torch);

}  // namespace stepscope
