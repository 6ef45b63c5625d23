// Tells SQLite databases from other files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace stepscope {

// Whether a regular file begins like a database. False for a file that cannot be read. A pipe is
// not touched, because it can be read only once.
bool is_database(const std::filesystem::path& file);

// What SQLite adds to a database's name for the files that it keeps beside it while it writes.
inline constexpr std::array<const char*, 3> kSideFileSuffixes{"-wal", "-shm", "-journal"};

// The database that a file of this name lies beside, as one of its side files.
std::optional<std::filesystem::path> database_of(const std::filesystem::path& file);

inline constexpr std::size_t kDatabaseHeader = 100;  // bytes

// The application id of a database (schema.h has ours), from its header, the first kDatabaseHeader
// bytes of the file; nullopt: they are fewer, or not those of a database.
std::optional<std::int32_t> application_id(std::string_view header);

}  // namespace stepscope
