#include "profiler/preload/original.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "profiler/session/hook_library.h"

namespace stepscope {
namespace {

// A handle for dlsym() of a library that is already loaded. Never closed: it is the program's code.
void* handle_of(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }

// The base of the object that contains `address`; null: none does (compiled at run time).
const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether `function` belongs to this library or another copy of it, so that it would lead back to
// us.
bool is_stepscopes(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0) return false;
  void* handle = handle_of(info.dli_fname);
  const void* start = handle == nullptr ? nullptr : dlsym(handle, "stepscope_start");
  return start != nullptr && base_of(start) == info.dli_fbase;
}

void* symbol_in(void* handle, const char* name) {
  void* function = handle == nullptr ? nullptr : dlsym(handle, name);
  return function == nullptr || is_stepscopes(function) ? nullptr : function;
}

// Looks in the calling object and in what it was linked against.
void* find_for_caller(const char* name, const void* return_address) {
  Dl_info caller{};
  if (dladdr(return_address, &caller) == 0) return nullptr;
  return symbol_in(handle_of(caller.dli_fname), name);
}

// Only this lookup allocates; if memory runs out, the name is not found.
void* find_anywhere(const char* name) noexcept try {
  if (void* function = find_torch_symbol(name); function != nullptr && !is_stepscopes(function)) {
    return function;
  }
  for (const std::string& path : loaded_library_paths()) {
    if (void* function = symbol_in(handle_of(path.c_str()), name)) return function;
  }
  return nullptr;
} catch (...) {
  return nullptr;
}

void* find_original(const char* name, const void* return_address) {
  if (void* function = find_for_caller(name, return_address)) return function;
  void* next = dlsym(RTLD_NEXT, name);
  return next != nullptr && !is_stepscopes(next) ? next : find_anywhere(name);
}

}  // namespace

void Original::remember(const void* return_address, void* function) {
  for (CallSite& site : call_sites_) {
    const void* taken_by = nullptr;
    if (site.return_address.compare_exchange_strong(taken_by, return_address)) {
      site.function.store(function, std::memory_order_release);
      return;
    }
    if (taken_by == return_address) return;  // another thread was faster
  }
}

void* Original::look_up(const void* return_address) noexcept {
  void* function = find_original(name_, return_address);
  if (function != nullptr) remember(return_address, function);
  return function;
}

void Original::end_program() const noexcept {
  std::fprintf(stderr, "symbol lookup error: undefined symbol: %s\n", name_);
  _exit(127);
}

}  // namespace stepscope
