// libtorch's own definition of a symbol that we export too.
#pragma once

#include <dlfcn.h>

#include "profiler/session/hook_library.h"

namespace stepscope {

// Null where libtorch is not loaded yet. Not RTLD_NEXT alone: where libtorch was loaded RTLD_LOCAL,
// as Python does, that finds nothing.
inline void* find_libtorch_symbol(const char* name) {
  void* symbol = find_torch_symbol(name);
  return symbol != nullptr ? symbol : dlsym(RTLD_NEXT, name);
}

}  // namespace stepscope
