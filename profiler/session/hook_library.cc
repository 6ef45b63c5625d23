#include "profiler/session/hook_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "profiler/session/hook_places.h"
#include "profiler/session/own_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

Result<const HookApi*> load(const HookPlace& place, const std::string& torch_version) {
  const auto refused = [&](const std::string& why) {
    return Status::error(ErrorKind::kUnavailable, place.library.string() + ": " + why);
  };
  if (!is_trusted(place)) return refused("it belongs to another user");
  void* handle = dlopen(place.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refused(dlerror());
  const auto get_hooks = reinterpret_cast<GetHooks>(dlsym(handle, kGetHooksSymbol));
  if (get_hooks == nullptr) return refused("not a Stepscope hook library");
  const char* error = "";
  const HookApi* hooks = get_hooks(STEPSCOPE_HOOKS_ID, torch_version.c_str(), &error);
  if (hooks == nullptr) return refused(error);
  return hooks;
}

}  // namespace

Result<const HookApi*> load_hooks(const LoadedTorch& torch) {
  const auto places = hook_places(own_folder(), torch.version);
  std::string why = no_hooks_text(places, torch.version);
  for (const HookPlace& place : places) {
    if (!is_there(place.library)) continue;
    const auto hooks = load(place, torch.version);
    if (hooks.ok()) return hooks;
    why = hooks.status().message();
  }
  return Status::error(ErrorKind::kUnavailable,
                       "no op hooks: " + why +
                           "; phases are recorded, ops are not. To build them: " +
                           no_hooks_command(places, torch_root(torch.path)));
}

}  // namespace stepscope
