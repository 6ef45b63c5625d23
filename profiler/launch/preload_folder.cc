#include "profiler/launch/preload_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLinkName = "lib";

std::string environment_of(const fs::path& process) {
  std::ifstream file(process / "environ", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// Whether another process was started with `path` in its environment. Processes of other users,
// which we may not read, are ignored.
bool is_in_some_environment(const std::string& path) {
  const std::string self = std::to_string(getpid());
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_number(name) || name == self) continue;
    if (environment_of(entry->path()).find(path) != std::string::npos) return true;
  }
  return false;
}

// A folder that everybody may enter and only we may change; empty if none can be made in `parent`.
fs::path make_open_folder(const char* parent) {
  if (parent == nullptr || *parent != '/' || !can_be_preloaded(parent)) return {};
  std::string name = std::string(parent) + "/stepscope-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return {};
  chmod(name.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
  return name;
}

}  // namespace

bool can_be_preloaded(std::string_view path) {
  return path.find_first_of(" :$") == std::string_view::npos;
}

Result<PreloadFolder> PreloadFolder::open(const fs::path& libraries) {
  if (can_be_preloaded(libraries.native())) return PreloadFolder(libraries, {});
  for (const char* parent :
       {static_cast<const char*>(std::getenv("TMPDIR")), "/tmp", "/dev/shm", "/var/tmp"}) {
    const fs::path folder = make_open_folder(parent);
    if (folder.empty()) continue;
    if (symlink(libraries.c_str(), (folder / kLinkName).c_str()) == 0) {
      return PreloadFolder(folder / kLinkName, folder);
    }
    rmdir(folder.c_str());
  }
  return Status::error(ErrorKind::kIo,
                       libraries.string() +
                           ": cannot be preloaded: its path has a space, a colon or a '$', and "
                           "no link to it can be created in TMPDIR, /tmp, /dev/shm or /var/tmp (" +
                           std::strerror(errno) + "); install Stepscope elsewhere");
}

PreloadFolder::PreloadFolder(fs::path path, fs::path made)
    : path_(std::move(path)), made_(std::move(made)) {}

PreloadFolder::PreloadFolder(PreloadFolder&& other) noexcept
    : path_(std::move(other.path_)), made_(std::exchange(other.made_, {})) {}

PreloadFolder::~PreloadFolder() {
  if (made_.empty() || is_in_some_environment(path_.string())) return;
  unlink(path_.c_str());
  rmdir(made_.c_str());
}

}  // namespace stepscope
