// libtorch's own definition of a symbol that we export too.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "profiler/session/hook_library.h"

namespace stepscope {

// Null where libtorch is not loaded yet. Not RTLD_NEXT alone: where libtorch was loaded RTLD_LOCAL,
// as Python does, that finds nothing.
inline void* find_libtorch_symbol(const char* name) {
  void* symbol = find_torch_symbol(name);
  return symbol != nullptr ? symbol : dlsym(RTLD_NEXT, name);
}

// For what libtorch itself has just called.
inline void* libtorch_symbol(const char* name) {
  void* symbol = find_libtorch_symbol(name);
  if (symbol == nullptr) {
    // Cannot be: who calls us resolved this name against libtorch. Nothing sensible could be
    // returned.
    std::fprintf(stderr, "stepscope: cannot find %s in libtorch\n", name);
    std::abort();
  }
  return symbol;
}

}  // namespace stepscope
