// What a symbol that we export would be without us: libtorch's own definition of it.
//
// Looked up where the caller would have found it. A name in the whole process is not enough: Python
// loads libtorch RTLD_LOCAL, repaired wheels rename it (libtorch_cpu-1a2b3c4d.so), and a process
// may hold two. So the caller's own scope comes first; each call site is remembered. (A caller that
// jumps to us instead of calling looks like its own caller; what that one has is then taken.)
//
// Thread safety: all members; constant-initialised, so that it works before any constructor ran.
#pragma once

#include <array>
#include <atomic>

namespace stepscope {

class Original {
 public:
  // `name`: mangled, a literal.
  constexpr explicit Original(const char* name) : name_(name) {}
  Original(const Original&) = delete;
  Original& operator=(const Original&) = delete;

  // The definition for a call that returns to `return_address`; nullptr when there is none (yet).
  void* find(const void* return_address) noexcept;
  // The same for a function that cannot be left out. Where nothing defines it the program ends as
  // the dynamic linker would end it without us: a line, and exit code 127.
  void* get(const void* return_address) noexcept;

 private:
  struct CallSite {
    std::atomic<const void*> return_address{nullptr};
    std::atomic<void*> function{nullptr};  // null: being looked up
  };
  // More than libtorch and a program have for any of these names; further ones are looked up each
  // time.
  static constexpr std::size_t kCallSites = 16;

  void remember(const void* return_address, void* function);

  const char* name_;
  std::array<CallSite, kCallSites> call_sites_{};
};

}  // namespace stepscope
