// Replacements for functions that the compiler's libraries and this machine's headers take from a
// glibc newer than 2.28. They are hidden symbols, linked into everything in the wheel and the
// tarball, which therefore run with 2.28 too. A function that is missing here fails to link
// (glibc_stubs.py).
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

// _STAT_VER of the former <sys/stat.h> on x86-64.
constexpr int kStatVersion = 1;
constexpr long kNanosecondsInSecond = 1'000'000'000;

struct timespec now(clockid_t clock) {
  struct timespec time{};
  clock_gettime(clock, &time);
  return time;
}

// a + (b - c)
struct timespec shifted(const struct timespec& a, const struct timespec& b,
                        const struct timespec& c) {
  struct timespec sum{a.tv_sec + b.tv_sec - c.tv_sec, a.tv_nsec + b.tv_nsec - c.tv_nsec};
  for (; sum.tv_nsec < 0; --sum.tv_sec) sum.tv_nsec += kNanosecondsInSecond;
  for (; sum.tv_nsec >= kNanosecondsInSecond; ++sum.tv_sec) sum.tv_nsec -= kNanosecondsInSecond;
  return sum;
}

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

// Callback of dl_iterate_phdr(); a result other than 0 ends the iteration.
int look_at_object(dl_phdr_info* object, std::size_t, void* search_of) {
  const auto& search = *static_cast<Search*>(search_of);
  const void* frames = nullptr;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) frames = reinterpret_cast<const void*>(begin);
    if (part.p_type != PT_LOAD || search.address - begin >= part.p_memsz) continue;
    holds = true;
    search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
    search.found->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
  }
  if (!holds) return 0;
  search.found->dlfo_eh_frame = const_cast<void*>(frames);
  return 1;
}

}  // namespace

extern "C" {

// No longer in the headers, but still in the library.
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);

// Since 2.33; before, these were inline. On x86-64, struct stat64 is the same as struct stat.
int stat(const char* path, struct stat* status) noexcept {
  return __xstat(kStatVersion, path, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  return __lxstat(kStatVersion, path, status);
}
int fstat(int file, struct stat* status) noexcept { return __fxstat(kStatVersion, file, status); }
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return __fxstatat(kStatVersion, folder, path, status, flags);
}
int stat64(const char* path, struct stat64* status) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(status));
}
int lstat64(const char* path, struct stat64* status) noexcept {
  return lstat(path, reinterpret_cast<struct stat*>(status));
}
int fstat64(int file, struct stat64* status) noexcept {
  return fstat(file, reinterpret_cast<struct stat*>(status));
}

// Since 2.36; used by std::random_device.
std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  ssize_t got = -1;
  do got = getrandom(&number, sizeof number, 0);
  while (got < 0 && errno == EINTR);
  if (got != sizeof number) std::abort();  // a kernel before 3.17
  return number;
}

// Since 2.32. Whether the C++ library may count references without atomic operations: never.
extern const char stepscope_is_single_threaded __asm__("__libc_single_threaded");
[[gnu::used]] const char stepscope_is_single_threaded = 0;

// Since 2.35; the unwinder relies on it alone. Done here as older unwinders did.
int _dl_find_object(void* address, dl_find_object* found) noexcept {
  *found = {};
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_at_object, &search) != 0 && found->dlfo_eh_frame != nullptr ? 0 : -1;
}

// Since 2.30; the C++ library waits with it until a time of the steady clock. If glibc does not
// have it, the real-time clock must do; callers check their own clock afterwards.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  using Function = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  if (real != nullptr) return real(condition, mutex, clock, until);
  const struct timespec real_time = shifted(now(CLOCK_REALTIME), *until, now(clock));
  return pthread_cond_timedwait(condition, mutex, &real_time);
}

}  // extern "C"
