// The places of hook libraries: next to libstepscope.so for the libtorch that Stepscope was built
// with, in the user's cache folder for those that `stepscope doctor --build-hooks` built.
//
// Thread safety: reads the environment, so no other thread may change it meanwhile.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stepscope {

enum class HookOrigin : unsigned char { kNamed, kInstalled, kCache };

struct HookPlace {
  HookOrigin origin;
  std::filesystem::path library;
};

// The places to look for the hooks of libtorch `torch_version` ("2.13.0"); the first that works
// counts. They are stepscope/torch-VERSION/ in `library_folder` (that of libstepscope.so), then the
// cache. If STEPSCOPE_HOOKS is set, only the folder that it names.
std::vector<HookPlace> hook_places(const std::filesystem::path& library_folder,
                                   const std::string& torch_version);

// False for a library in the cache folder that belongs neither to us nor to root: the environment
// names that folder, and it may be another user's environment (sudo -E).
bool is_trusted(const HookPlace& place);

// The error text if none of `places` has a library, and the command that fixes it.
std::string no_hooks_text(const std::vector<HookPlace>& places, const std::string& torch_version);
std::string no_hooks_command(const std::vector<HookPlace>& places,
                             const std::filesystem::path& torch_root);

// $XDG_CACHE_HOME/stepscope/VERSION-OF-STEPSCOPE, or the same below ~/.cache; empty if the user has
// neither.
std::filesystem::path hook_cache();
// The relative path of a hook library, in hook_cache() and elsewhere:
// "torch-2.13.0/libstepscope_torch.so".
std::filesystem::path hook_file(const std::string& torch_version);

// The root of a libtorch, as for STEPSCOPE_TORCH_DIR, from the path of its libtorch_cpu.so: /usr
// for /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.
std::filesystem::path torch_root(const std::filesystem::path& libtorch_cpu);

}  // namespace stepscope
