// Tells SQLite databases from other files.
#pragma once

#include <filesystem>

namespace stepscope {

// Whether a regular file begins like a database. False for a file that cannot be read. A pipe is
// not touched, because it can be read only once.
bool is_database(const std::filesystem::path& file);

}  // namespace stepscope
