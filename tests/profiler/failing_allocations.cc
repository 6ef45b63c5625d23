#include "tests/profiler/failing_allocations.h"

#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEPSCOPE_OWN_NEW 0
#elif defined(__has_feature)
#define STEPSCOPE_OWN_NEW !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define STEPSCOPE_OWN_NEW 1
#endif

namespace stepscope {

thread_local int allocations_until_failure = -1;

bool allocations_can_fail() { return STEPSCOPE_OWN_NEW; }

}  // namespace stepscope

#if STEPSCOPE_OWN_NEW
// Those of the whole test program.
void* operator new(std::size_t bytes) {
  int& left = stepscope::allocations_until_failure;
  if (left >= 0 && left-- == 0) throw std::bad_alloc();
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
