#include "profiler/recorder/missing_events.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/absolute_path.h"

namespace stepscope {
namespace {

// Twice the room for a few pages of the store and their copies in its log.
constexpr off_t kReservedBytes = 1 << 20;
constexpr char kStoppedMeta[] = "recording_stopped";

// The file has no name, and its space is freed when it is closed.
OwnedFd reserve_space(const std::filesystem::path& store) {  // absolute
  OwnedFd file(open(store.parent_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file && posix_fallocate(file.get(), 0, kReservedBytes) != 0) return {};
  return file;
}

}  // namespace

MissingEvents::MissingEvents(const std::filesystem::path& store)
    : store_(absolute_path(store)), reserved_(reserve_space(store_)) {}

Status MissingEvents::announce(TraceWriter& writer, const std::string& why) {
  // If it cannot be shortened, it was not reserved.
  if (reserved_) static_cast<void>(ftruncate(reserved_.get(), kReservedBytes / 2));
  return writer.set_last_meta(kStoppedMeta, why);
}

Status MissingEvents::store(std::int64_t events, const std::string& why) {
  reserved_ = OwnedFd();
  auto writer = TraceWriter::open(store_);
  if (!writer.ok()) return writer.status();
  Status status = (*writer)->add(Loss{ThreadId::kNone, "unwritten", events});
  if (status.ok()) status = (*writer)->set_meta(kStoppedMeta, why);
  if (status.ok()) status = (*writer)->set_meta("state", "complete");
  return status.ok() ? (*writer)->finish() : status;
}

}  // namespace stepscope
