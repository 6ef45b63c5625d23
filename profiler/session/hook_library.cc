#include "profiler/session/hook_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <string_view>

#include "profiler/session/hook_places.h"
#include "profiler/session/own_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// With RTLD_NOLOAD: only what is there already.
void* torch_handle() {
  const std::string path = loaded_library_path("libtorch_cpu.so");
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

// at::show_config() names the build's settings, TORCH_VERSION among them, in every libtorch
// since 1.8. Libraries built with the old std::string (PyPI wheels up to 2.6) export it under
// another name. Their string is one pointer to the characters; it is left alone, as it belongs to
// code that we cannot call.
std::string build_settings(void* torch) {
  if (void* symbol = dlsym(torch, "_ZN2at11show_configB5cxx11Ev")) {
    return reinterpret_cast<std::string (*)()>(symbol)();
  }
  using OldShowConfig = void (*)(void* result);
  void* symbol = dlsym(torch, "_ZN2at11show_configEv");
  if (symbol == nullptr) return {};
  const char* text = nullptr;
  reinterpret_cast<OldShowConfig>(symbol)(static_cast<void*>(&text));
  return text;
}

std::string version_in(const std::string& settings) {
  constexpr std::string_view key = "TORCH_VERSION=";
  const std::size_t at = settings.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return settings.substr(begin, settings.find_first_of(", \n", begin) - begin);
}

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

std::string loaded_library_path(std::string_view prefix) {
  struct Search {
    std::string_view prefix;
    std::string path;
  } search{prefix, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name;
        const std::string_view file = path.substr(path.rfind('/') + 1);
        if (file.substr(0, wanted.prefix.size()) != wanted.prefix) return 0;
        wanted.path = path;
        return 1;
      },
      &search);
  return search.path;
}

bool torch_is_in_process() { return !loaded_library_path("libtorch_cpu.so").empty(); }

std::optional<LoadedTorch> find_loaded_torch() {
  void* torch = torch_handle();
  if (torch == nullptr) return std::nullopt;
  return LoadedTorch{loaded_library_path("libtorch_cpu.so"), version_in(build_settings(torch))};
}

void* find_torch_symbol(const char* mangled_name) {
  void* torch = torch_handle();
  return torch == nullptr ? nullptr : dlsym(torch, mangled_name);
}

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
                           "; phases are recorded, ops are not. To have them: " +
                           no_hooks_command(places, torch_root(torch.path)));
}

}  // namespace stepscope
