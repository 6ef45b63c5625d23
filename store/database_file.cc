#include "store/database_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>
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

}  // namespace stepscope
