// A store without a recording yet. Internal to store/.
#pragma once

#include <filesystem>
#include <string>

#include "store/status.h"

namespace stepscope {

// The bytes of a new store. Errors name `path`. Built in memory, so that a recorder that is killed
// meanwhile leaves no half-made store at `path`, which the next recording would refuse to replace.
Result<std::string> empty_store(const std::filesystem::path& path);

}  // namespace stepscope
