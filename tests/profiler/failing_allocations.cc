#include "tests/profiler/failing_allocations.h"

#include <cstdlib>
#include <new>

namespace stepscope {

thread_local int allocations_until_failure = -1;

}  // namespace stepscope

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
