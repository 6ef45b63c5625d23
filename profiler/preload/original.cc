#include "profiler/preload/original.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "profiler/session/hook_library.h"

namespace stepscope {
namespace {

// A library that is already loaded, for dlsym(). Closed again: it may be a plugin that the program
// unloads later.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* path) : handle_(dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {}
  ~LoadedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  [[nodiscard]] void* symbol(const char* name) const {
    return handle_ == nullptr ? nullptr : dlsym(handle_, name);
  }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

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
  const void* start = LoadedLibrary(info.dli_fname).symbol("stepscope_start");
  return start != nullptr && base_of(start) == info.dli_fbase;
}

// The library of `function` stays loaded from now on: its address is remembered.
void* symbol_in(const LoadedLibrary& library, const char* name) {
  void* function = library.symbol(name);
  Dl_info info{};
  if (function == nullptr || is_stepscopes(function)) return nullptr;
  if (dladdr(function, &info) != 0) LoadedLibrary(info.dli_fname).keep();
  return function;
}

// Looks in the calling object and in what it was linked against.
void* find_for_caller(const char* name, const void* return_address) {
  Dl_info caller{};
  if (dladdr(return_address, &caller) == 0) return nullptr;
  return symbol_in(LoadedLibrary(caller.dli_fname), name);
}

// Only this lookup allocates; if memory runs out, the name is not found.
void* find_anywhere(const char* name) noexcept try {
  if (void* function = find_torch_symbol(name); function != nullptr && !is_stepscopes(function)) {
    return function;
  }
  for (const std::string& path : loaded_library_paths()) {
    if (void* function = symbol_in(LoadedLibrary(path.c_str()), name)) return function;
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
