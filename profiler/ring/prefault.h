// Memory that is there before it is needed.
#pragma once

#include <cstddef>

namespace stepscope {

// Touches every page of zeroed memory that nobody uses yet: the first touch of a page costs as much
// as a hundred events, so it is paid before the first event. False when there is no memory. errno
// is kept: the program is in the middle of something.
bool prefault(void* memory, std::size_t bytes);

}  // namespace stepscope
