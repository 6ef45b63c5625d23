#include "store/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "store/sqlite.h"

namespace stepscope {

bool is_database(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  char head[kDatabaseMagic.size()];
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, head, sizeof head);
  ::close(fd);
  return got == static_cast<ssize_t>(sizeof head) &&
         std::string_view(head, sizeof head) == kDatabaseMagic;
}

Status check_side_files(const std::filesystem::path& file) {
  const std::string& name = file.native();
  for (const std::string_view suffix : kSideFileSuffixes) {
    const std::string side = name + std::string(suffix);
    if (is_database(side)) {
      return Status::error(ErrorKind::kBadInput, name + ": SQLite would take the database " + side +
                                                     " for a log of it; choose another name");
    }
    if (!name.ends_with(suffix)) continue;
    const std::string database = name.substr(0, name.size() - suffix.size());
    if (is_database(database)) {
      return Status::error(ErrorKind::kBadInput, name + ": belongs to the database " + database +
                                                     "; choose another name");
    }
  }
  return {};
}

Status check_owner_of_side_files(const std::filesystem::path& file) {
  std::error_code code;
  // SQLite puts them beside the file that a link leads to.
  const std::filesystem::path real = std::filesystem::canonical(file, code);
  struct stat database{};
  if (code || ::stat(real.c_str(), &database) != 0) return {};
  for (const std::string_view suffix : kSideFileSuffixes) {
    const std::string side = real.native() + std::string(suffix);
    struct stat found{};
    if (::lstat(side.c_str(), &found) != 0) continue;
    const bool plain = S_ISREG(found.st_mode) && found.st_nlink <= 1;
    const bool trusted =
        found.st_uid == database.st_uid || found.st_uid == ::geteuid() || found.st_uid == 0;
    if (plain && trusted) continue;
    return Status::error(
        ErrorKind::kBadInput,
        side + ": is in the way, because SQLite would use it, and " +
            (trusted ? "it is a link or no regular file" : "another user made it") +
            "; remove it, or choose another name for " + file.filename().string());
  }
  return {};
}

// https://www.sqlite.org/fileformat2.html, "The Database Header"
std::optional<std::int32_t> application_id(std::string_view header) {
  constexpr std::size_t kIdAt = 68, kIdSize = 4;  // big-endian
  if (header.size() < kDatabaseHeader || !header.starts_with(kDatabaseMagic) ||
      header[kDatabaseMagic.size()] != '\0') {
    return std::nullopt;
  }
  std::uint32_t id = 0;
  for (const char byte : header.substr(kIdAt, kIdSize))
    id = id << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int32_t>(id);
}

}  // namespace stepscope
