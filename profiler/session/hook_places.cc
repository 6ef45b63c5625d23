#include "profiler/session/hook_places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "store/shell_word.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? fs::path() : fs::path(value);
}

bool are_named(const std::vector<HookPlace>& places) {
  return places.size() == 1 && places.front().origin == HookOrigin::kNamed;
}

}  // namespace

fs::path hook_file(const std::string& torch_version) {
  return fs::path("torch-" + torch_version) / "libstepscope_torch.so";
}

// https://specifications.freedesktop.org/basedir-spec: relative paths must be ignored.
fs::path hook_cache() {
  const fs::path inside = fs::path("stepscope") / STEPSCOPE_VERSION;
  if (const fs::path cache = folder_in("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / inside;
  }
  const fs::path home = folder_in("HOME");
  return home.is_absolute() ? home / ".cache" / inside : fs::path();
}

std::vector<HookPlace> hook_places(const fs::path& library_folder,
                                   const std::string& torch_version) {
  const fs::path file = hook_file(torch_version);
  if (const fs::path named = folder_in("STEPSCOPE_HOOKS"); !named.empty()) {
    return {{HookOrigin::kNamed, named / file}};
  }
  std::vector<HookPlace> places{{HookOrigin::kInstalled, library_folder / "stepscope" / file}};
  if (const fs::path cache = hook_cache(); !cache.empty()) {
    places.push_back({HookOrigin::kCache, cache / file});
  }
  return places;
}

// Python opens libtorch as ".../torch/lib/../lib/libtorch_cpu.so"; Debian has it two folders below
// the root.
fs::path torch_root(const fs::path& libtorch_cpu) {
  std::error_code error;
  fs::path folder = fs::weakly_canonical(libtorch_cpu.parent_path(), error);
  if (error) folder = libtorch_cpu.parent_path();
  while (folder.has_relative_path() && folder.filename() != "lib" && folder.filename() != "lib64") {
    folder = folder.parent_path();
  }
  return folder.has_relative_path() ? folder.parent_path() : fs::path();
}

bool is_trusted(const HookPlace& place) {
  if (place.origin != HookOrigin::kCache) return true;
  struct stat file{};
  return stat(place.library.c_str(), &file) == 0 && (file.st_uid == geteuid() || file.st_uid == 0);
}

std::string no_hooks_text(const std::vector<HookPlace>& places, const std::string& torch_version) {
  const std::string none = "none for libtorch " + torch_version;
  return are_named(places) ? none + " in the folder that STEPSCOPE_HOOKS names" : none;
}

std::string no_hooks_command(const std::vector<HookPlace>& places, const fs::path& torch_root) {
  if (are_named(places)) return "unset STEPSCOPE_HOOKS";
  const std::string command = "stepscope doctor --build-hooks";
  return torch_root.empty() ? command : command + " --torch " + shell_word(torch_root.string());
}

}  // namespace stepscope
