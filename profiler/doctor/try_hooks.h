// Checks whether hooks load into a process with their libtorch. Only trying is reliable, since it
// also depends on compiler ABIs and the C++ runtime.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "profiler/doctor/find_torch.h"

namespace stepscope {

enum class HookTrial : std::uint8_t {
  kWork,
  kRefused,           // built for another libtorch, or cannot be loaded
  kTorchDoesNotLoad,  // libtorch itself does not load outside its program: unknown
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
