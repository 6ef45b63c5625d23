// Maps memory before it is needed.
#pragma once

#include <cstddef>

namespace stepscope {

// Touches every page of zeroed, unused memory. The first touch of a page costs as much as a hundred
// events, so this happens before the first event. Returns false if memory runs out. Preserves
// errno, since the program may be about to read it.
bool prefault(void* memory, std::size_t bytes);

}  // namespace stepscope
