// Names of files in commands that people copy from a terminal.
#pragma once

#include <string>

namespace stepscope {

// `path` as an argument of a shell's command: quoted where a shell needs it, and with "./" before a
// dash. Characters that could control a terminal are replaced, as by printable().
std::string path_argument(const std::string& path);

}  // namespace stepscope
