#include "profiler/ring/prefault.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace stepscope {
namespace {

// Touches a page of memory that nobody uses yet. The memory may be a file on a full disk: a store
// instruction would then raise SIGBUS, whereas this system call fails.
bool touch(char* page) {
  if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, page) != 0) return false;
  std::memset(page, 0, sizeof(timespec));
  return true;
}

}  // namespace

bool prefault(void* memory, std::size_t bytes) {
  const int saved = errno;
  bool there = false;
#ifdef MADV_POPULATE_WRITE  // Linux 5.14
  there = madvise(memory, bytes, MADV_POPULATE_WRITE) == 0;
  const bool no_memory = !there && (errno == EFAULT || errno == ENOMEM);
#else
  const bool no_memory = false;
#endif
  if (!there && !no_memory) {
    constexpr std::size_t kPage = 4096;
    there = true;
    for (std::size_t at = 0; there && at < bytes; at += kPage) {
      there = touch(static_cast<char*>(memory) + at);
    }
  }
  errno = saved;
  return there;
}

}  // namespace stepscope
