#include "profiler/doctor/try_hooks.h"

#include <dlfcn.h>

#include "profiler/doctor/in_child.h"
#include "profiler/hook_api.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

HookTrialResult load_all(const fs::path& hooks, const fs::path& libstepscope,
                         const TorchInstall& torch) {
  if (dlopen(torch.library.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    return {HookTrial::kTorchDoesNotLoad, dlerror()};
  }
  // Loaded before the hooks, which then find it by its name, as in a wrapped program.
  if (dlopen(libstepscope.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return {HookTrial::kRefused, dlerror()};
  }
  void* library = dlopen(hooks.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {HookTrial::kRefused, dlerror()};
  const auto get_hooks = reinterpret_cast<GetHooks>(dlsym(library, kGetHooksSymbol));
  if (get_hooks == nullptr) return {HookTrial::kRefused, "not a Stepscope hook library"};
  const char* error = "";
  const bool given = get_hooks(STEPSCOPE_HOOKS_ID, torch.version.c_str(), &error) != nullptr;
  return given ? HookTrialResult{} : HookTrialResult{HookTrial::kRefused, error};
}

}  // namespace

HookTrialResult try_hooks(const fs::path& hooks, const fs::path& libstepscope,
                          const TorchInstall& torch) {
  // The outcome as a byte, then the reason.
  const ChildAnswer answer = ask_child([&] {
    const HookTrialResult result = load_all(hooks, libstepscope, torch);
    return static_cast<char>('0' + static_cast<int>(result.outcome)) + result.why;
  });
  if (!answer.answered || answer.text.empty()) return {HookTrial::kRefused, answer.text};
  return {static_cast<HookTrial>(answer.text[0] - '0'), answer.text.substr(1)};
}

}  // namespace stepscope
