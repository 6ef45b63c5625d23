// Where hook libraries are: next to libstepscope.so for the libtorch that Stepscope was built with,
// in the user's cache folder for those built by `stepscope doctor --build-hooks`.
//
// Thread safety: reads the environment, so not while another thread changes it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

enum class HookOrigin : unsigned char { kNamed, kInstalled, kCache };

struct HookPlace {
  HookOrigin origin;
  std::filesystem::path library;
};

// Where to look for the hooks of libtorch `torch_version` ("2.13.0"), the first that works counts:
// stepscope/torch-VERSION/ in `library_folder` (that of libstepscope.so), then the cache. With
// STEPSCOPE_HOOKS in the environment nowhere but in the folder that it names.
std::vector<HookPlace> hook_places(const std::filesystem::path& library_folder,
                                   const std::string& torch_version);

// A cache folder is found through the environment, which may be another user's (sudo -E): false for
// a library there that belongs neither to us nor to root.
bool is_trusted(const HookPlace& place);

// The error when none of `places` has a library, and the command that fixes it.
std::string no_hooks_text(const std::vector<HookPlace>& places, const std::string& torch_version);
std::string no_hooks_command(const std::vector<HookPlace>& places,
                             const std::filesystem::path& torch_root);

// $XDG_CACHE_HOME/stepscope/VERSION-OF-STEPSCOPE, else the same below ~/.cache; empty when the user
// has neither.
std::filesystem::path hook_cache();
// Of a hook library, in hook_cache() and elsewhere: "torch-2.13.0/libstepscope_torch.so".
std::filesystem::path hook_file(const std::string& torch_version);

// The folder that STEPSCOPE_TORCH_DIR would name, from the path of its libtorch_cpu.so:
// /usr from /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.
std::filesystem::path torch_root(const std::filesystem::path& libtorch_cpu);

// `word` as a shell takes it for one argument.
std::string shell_word(std::string_view word);

}  // namespace stepscope
