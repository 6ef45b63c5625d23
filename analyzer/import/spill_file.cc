#include "analyzer/import/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace stepscope {

SpillFile::~SpillFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status SpillFile::failure(const char* what) const {
  return Status::error(ErrorKind::kIo, folder_.string() + ": a temporary file there cannot be " +
                                           what + ": " + std::strerror(errno));
}

Status SpillFile::create() {
  descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor_ >= 0) return {};
  // Not every file system supports unnamed files: make a named one and unlink it at once.
  std::string name = (folder_ / ".stepscope-import-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) return failure("made");
  ::unlink(name.c_str());
  return {};
}

Result<std::int64_t> SpillFile::append(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) {
    if (Status status = create(); !status.ok()) return status;
  }
  const std::int64_t offset = size_;
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), size_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure("written");
    size_ += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return offset;
}

Status SpillFile::read(std::int64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;  // shorter than what was written
    if (count <= 0) return failure("read");
    offset += count;
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace stepscope
