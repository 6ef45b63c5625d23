// Finds the definition that a symbol which we export would have without us: libtorch's own.
//
// For a known call site, this costs a few instructions: libtorch calls some of these functions for
// each tensor.
//
// The lookup uses the scope of the caller. A process-wide lookup is not enough: Python loads
// libtorch with RTLD_LOCAL, repaired wheels rename it (libtorch_cpu-1a2b3c4d.so), and a process may
// contain two of them. So the caller's own scope comes first; each call site is cached. (A tail
// call looks like a call from its own caller, whose scope is then used.)
//
// Thread safety: all members. Constant-initialised, so that it works before any constructor has
// run.
#pragma once

#include <array>
#include <atomic>

#include "profiler/visibility.h"

namespace stepscope {

class Original {
 public:
  // `name`: mangled, a literal.
  constexpr explicit Original(const char* name) : name_(name) {}
  Original(const Original&) = delete;
  Original& operator=(const Original&) = delete;

  // The definition for a call that returns to `return_address`, if such a call came before; else
  // nullptr.
  [[nodiscard]] STEPSCOPE_HOT_INLINE void* known(const void* return_address) const noexcept {
    for (const CallSite& site : call_sites_) {
      const void* address = site.return_address.load(std::memory_order_relaxed);
      if (address == return_address) [[likely]]
        return site.function.load(std::memory_order_acquire);
      if (address == nullptr) break;
    }
    return nullptr;
  }
  // The same, looked up if need be; nullptr if there is none (yet).
  void* find(const void* return_address) noexcept {
    void* const function = known(return_address);
    return function != nullptr ? function : look_up(return_address);
  }
  // The same for a function that must exist. If nothing defines it, the program ends as the dynamic
  // linker would end it without us: with one line and exit code 127.
  void* get(const void* return_address) noexcept {
    void* function = find(return_address);
    if (function == nullptr) [[unlikely]]
      end_program();
    return function;
  }

 private:
  struct CallSite {
    std::atomic<const void*> return_address{nullptr};
    std::atomic<void*> function{nullptr};  // null: lookup in progress
  };
  // More than libtorch and a program have for any of these names; further call sites are looked up
  // each time.
  static constexpr std::size_t kCallSites = 16;

  void* look_up(const void* return_address) noexcept;
  void remember(const void* return_address, void* function);
  [[noreturn]] void end_program() const noexcept;

  const char* name_;
  std::array<CallSite, kCallSites> call_sites_{};
};

}  // namespace stepscope
