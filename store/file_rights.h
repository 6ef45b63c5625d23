// The rights of a file that replaces another.
#pragma once

#include <sys/types.h>

namespace stepscope {

// Gives the open file to `group`. Returns `mode` if that works, or else `mode` without the group's
// rights: the file's own group was not to read what it replaces.
mode_t rights_in_group(int fd, gid_t group, mode_t mode);

}  // namespace stepscope
