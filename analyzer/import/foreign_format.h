// Files that users take for traces, and that must be unpacked, converted or given to another verb.
#pragma once

#include <filesystem>
#include <string_view>

namespace stepscope {

// What such a file is and what to do about it, as the rest of a line that begins with its path;
// empty if it is none of them, may be a trace, or cannot be read. Reads regular files only: the
// bytes of a pipe would be gone.
//
// Thread safety: any thread.
std::string_view foreign_format(const std::filesystem::path& path);

}  // namespace stepscope
