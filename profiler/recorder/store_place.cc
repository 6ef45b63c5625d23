#include "profiler/recorder/store_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "store/absolute_path.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// Whether there is a file at the path, and it is another one.
bool is_other(const fs::path& path, const OwnedFd& file) {
  struct stat there{}, held{};
  return file && ::stat(path.c_str(), &there) == 0 && ::fstat(file.get(), &held) == 0 &&
         (there.st_dev != held.st_dev || there.st_ino != held.st_ino);
}

}  // namespace

StorePlace::Held StorePlace::hold(const fs::path& path) {
  return {path, OwnedFd(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW))};
}

StorePlace::StorePlace(const fs::path& store) {
  std::error_code code;
  fs::path real = fs::canonical(store, code);
  if (code) real = absolute_path(store);
  store_ = hold(real);
  for (std::size_t i = 0; i < logs_.size(); ++i)
    logs_[i] = hold(real.native() + kSideFileSuffixes[i]);
}

fs::path StorePlace::now() const {
  std::error_code ignored;
  const std::string link = "/proc/self/fd/" + std::to_string(store_.file.get());
  const fs::path place = fs::read_symlink(link, ignored);
  return fs::equivalent(place, link, ignored) ? place : fs::path();
}

bool StorePlace::is_taken() const { return is_other(store_.path, store_.file); }

void StorePlace::remove_logs() const {
  for (const Held& log : logs_) {
    if (log.file && !is_other(log.path, log.file)) ::unlink(log.path.c_str());
  }
}

}  // namespace stepscope
