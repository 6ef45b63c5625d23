// Files and folders that disappear when a signal of the user, or a closed pipe, ends the program:
// temporary ones, and those that are not complete yet. (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE.)
//
// Thread safety: several threads may list and unlist.
#pragma once

#include <string>

namespace stepscope {

// A folder goes with its files, if it has no subfolders. At most eight paths of up to 4095 bytes
// are listed at a time; further ones stay behind. If the program handles a signal itself, or
// ignores it, that stays so.
void remove_on_signal(const std::string& path);
// No longer. Does nothing for a path that is not listed.
void keep_on_signal(const std::string& path);

}  // namespace stepscope
