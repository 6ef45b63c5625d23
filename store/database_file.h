// Telling SQLite's databases from other files.
#pragma once

#include <filesystem>

namespace stepscope {

// Whether a regular file begins as a database does. A pipe, which can be read only once, is not
// touched; what cannot be read is none.
bool is_database(const std::filesystem::path& file);

}  // namespace stepscope
