#include "profiler/doctor/build_hooks.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "profiler/doctor/build_tools.h"
#include "profiler/doctor/command.h"
#include "profiler/doctor/try_hooks.h"
#include "profiler/launch/preload_folder.h"
#include "profiler/session/hook_places.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

Status unavailable(const std::string& what) { return Status::error(ErrorKind::kUnavailable, what); }

Status check_what_is_needed(const TorchInstall& torch, const Installation& installed,
                            const BuildTools& tools) {
  if (!torch.has_headers) {
    return unavailable(torch.root.string() + ": this libtorch has no headers to build against");
  }
  if (!fs::exists(installed.hook_project() / "CMakeLists.txt")) {
    return unavailable(installed.sources.string() +
                       ": the sources of the hooks are missing; reinstall Stepscope");
  }
  if (tools.complete()) return {};
  const std::string command = install_tools_command();
  return unavailable("building hooks needs " + in_words(tools.missing) +
                     (command.empty() ? "" : "; install with: " + command));
}

// A separate folder in the cache, so that the result can be renamed into place. Removed by the
// destructor.
class BuildFolder {
 public:
  static Result<BuildFolder> make(const fs::path& cache) {
    std::error_code error;
    fs::create_directories(cache, error);
    std::string name = (cache / "build-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return Status::error(ErrorKind::kIo, cache.string() + ": cannot be written to (" +
                                               std::strerror(errno) +
                                               "); name another folder in XDG_CACHE_HOME");
    }
    return BuildFolder(name);
  }
  ~BuildFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  BuildFolder(BuildFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  BuildFolder& operator=(BuildFolder&&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit BuildFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

std::vector<std::vector<std::string>> build_commands(const TorchInstall& torch,
                                                     const Installation& installed,
                                                     const std::string& generator,
                                                     const fs::path& folder) {
  return {{"cmake", "-G", generator, "-S", installed.hook_project(), "-B", folder,
           "-DCMAKE_BUILD_TYPE=Release", "-DSTEPSCOPE_TORCH_DIR=" + torch.root.string(),
           "-DSTEPSCOPE_LIBRARY=" + installed.libstepscope().string(),
           "-DSTEPSCOPE_HOOKS_ID=" STEPSCOPE_HOOKS_ID},
          {"cmake", "--build", folder, "--parallel", "2", "--verbose"}};
}

Status run_build(const std::vector<std::vector<std::string>>& commands, const fs::path& log,
                 const std::function<void()>& tick) {
  std::error_code ignored;
  fs::remove(log, ignored);
  for (const auto& command : commands) {
    const int exit_code = run_logged(command, log, tick);
    if (exit_code == 0) continue;
    return Status::error(ErrorKind::kIo, log.string() +
                                             ": the hooks could not be built: " + command[0] +
                                             " ended with exit code " + std::to_string(exit_code) +
                                             "; this log has its output");
  }
  return {};
}

Status check_result(const fs::path& built, const TorchInstall& torch,
                    const Installation& installed) {
  const HookTrialResult trial = try_hooks(built, installed.libstepscope(), torch);
  if (trial.outcome != HookTrial::kRefused) return {};
  return unavailable("the hooks were built but do not work with " + torch.library.string() + ": " +
                     trial.why);
}

Status put_into_place(const fs::path& built, const fs::path& destination) {
  std::error_code error;
  fs::create_directories(destination.parent_path(), error);
  fs::rename(built, destination, error);
  if (!error) return {};
  return Status::error(ErrorKind::kIo, destination.string() + ": " + error.message());
}

}  // namespace

Result<fs::path> build_hooks(const TorchInstall& torch, const Installation& installed,
                             const std::function<void()>& tick) {
  const BuildTools tools = find_build_tools();
  if (Status status = check_what_is_needed(torch, installed, tools); !status.ok()) return status;
  const fs::path cache = hook_cache();
  if (cache.empty()) return unavailable("no folder for the hooks; set HOME or XDG_CACHE_HOME");
  const auto folder = BuildFolder::make(cache);
  if (!folder.ok()) return folder.status();
  // Neither make nor dlopen() accepts every path: these folders have one that both accept.
  const auto libraries = PreloadFolder::open(installed.libraries);
  if (!libraries.ok()) return libraries.status();
  const auto sources = PreloadFolder::open(installed.sources);
  if (!sources.ok()) return sources.status();
  const Installation named{libraries->path(), sources->path()};

  const fs::path log = cache / ("torch-" + torch.version + ".log");
  const auto commands = build_commands(torch, named, tools.generator, folder->path());
  if (Status status = run_build(commands, log, tick); !status.ok()) return status;
  const fs::path built = folder->path() / hook_file(torch.version).filename();
  if (Status status = check_result(built, torch, named); !status.ok()) return status;
  const fs::path destination = cache / hook_file(torch.version);
  if (Status status = put_into_place(built, destination); !status.ok()) return status;
  std::error_code ignored;
  fs::remove(log, ignored);
  return destination;
}

}  // namespace stepscope
