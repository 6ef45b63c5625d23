#include "store/database_file.h"

#include <fcntl.h>
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
