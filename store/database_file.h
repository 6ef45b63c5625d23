// Tells SQLite databases from other files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// Whether a regular file begins like a database. False for a file that cannot be read. A pipe is
// not touched, because it can be read only once.
bool is_database(const std::filesystem::path& file);

// What SQLite adds to a database's name for the files that it keeps beside it while it writes.
inline constexpr std::array<const char*, 3> kSideFileSuffixes{"-wal", "-shm", "-journal"};

// SQLite takes a file with such a name for its own, and removes it. kBadInput if `file` has the
// name of a side file of a database that is there, or a side file of `file` is a database.
Status check_side_files(const std::filesystem::path& file);

// In a folder that others can write to, such as /tmp, another user could put files with such names
// there. SQLite would write the pages of the database into them, follow a link, wait at a pipe, or
// die if they are cut while they are mapped. kBadInput unless the side files of `file` are regular
// files of the owner of `file`, of this process's user or of root. Success if there is no `file`.
Status check_owner_of_side_files(const std::filesystem::path& file);

inline constexpr std::size_t kDatabaseHeader = 100;  // bytes

// The application id of a database (schema.h has ours), from its header, the first kDatabaseHeader
// bytes of the file; nullopt: they are fewer, or not those of a database.
std::optional<std::int32_t> application_id(std::string_view header);

}  // namespace stepscope
