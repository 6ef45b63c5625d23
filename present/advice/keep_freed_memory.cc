#include <string>

#include "analyzer/words.h"
#include "present/advice/rules.h"

namespace stepscope {

AdviceWords words_of(const KeepFreedMemory& /*facts*/, const AdviceFacts& advice,
                     const LoopReport& loop) {
  const std::string faults = count_text(static_cast<std::int64_t>(advice.evidence.value + 0.5));
  return {
      "let malloc keep freed memory",
      "tensor memory is returned to the system and allocated again: " + faults +
          in_units(" page faults a step, ", loop.unit()) + time_text(loop.use.system_ns) +
          " of CPU time in the kernel; set MALLOC_TRIM_THRESHOLD_=17179869184 and "
          "MALLOC_MMAP_THRESHOLD_=33554432 (glibc), or preload jemalloc or tcmalloc",
      faults + in_units(" page faults a step, while the memory held does not grow", loop.unit())};
}

}  // namespace stepscope
