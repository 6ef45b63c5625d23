// Preloaded before Stepscope: one call of one kind that Stepscope makes fails, once.
//
//   FAIL_ONCE_COUNTS   a file of Counts, shared by all processes of a run
//
// Whose call it is, the return address tells: in the program those from libstepscope*.so and from
// the SQLite that comes with its recorder; in `stepscope` itself all but the C library's own.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Their order, and that of Counts, are known to bench/death/fail_once.py.
enum Kind { kMemory, kThread, kOpen, kMap, kWrite, kSync, kSpace, kSocket, kKinds };
enum Role { kProgram, kRecorder, kRoles };

struct Counts {
  std::atomic<std::int64_t> made[kRoles][kKinds];
  std::int64_t fails[kRoles][kKinds];  // which call fails, from 1; 0: none
  std::atomic<std::int64_t> failed;
  std::atomic<std::int64_t> made_before_start[kKinds];  // by `stepscope run`, before the program
};

Counts* counts = nullptr;
Role role = kProgram;
bool begun = false;  // main() has
thread_local bool looking = false;

__attribute__((constructor)) void map_counts() {
  const char* path = std::getenv("FAIL_ONCE_COUNTS");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  role = std::strcmp(program_invocation_short_name, "stepscope") == 0 ? kRecorder : kProgram;
  if (memory != MAP_FAILED) counts = static_cast<Counts*>(memory);
}

bool contains(const char* path, const char* part) { return std::strstr(path, part) != nullptr; }

bool is_ours(const void* return_address) {
  Dl_info info{};
  looking = true;
  const bool found = dladdr(return_address, &info) != 0 && info.dli_fname != nullptr;
  looking = false;
  if (!found) return false;
  const char* slash = std::strrchr(info.dli_fname, '/');
  const char* file = slash == nullptr ? info.dli_fname : slash + 1;
  if (role == kProgram) return contains(file, "libstepscope") || contains(file, "libsqlite3");
  // Not what is constructed before main(): no program runs yet that could be harmed.
  return begun && !contains(file, "libc.so") && !contains(file, "ld-linux");
}

bool fails(Kind kind, const void* return_address) {
  if (counts == nullptr || looking || !is_ours(return_address)) return false;
  const std::int64_t number = 1 + counts->made[role][kind].fetch_add(1);
  if (number != counts->fails[role][kind]) return false;
  counts->failed.fetch_add(1);
  return true;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The C library's own, which need no looking up: malloc() is called before anything else works.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
}

#define FAIL_ONCE(kind, error, result)              \
  do {                                              \
    if (fails(kind, __builtin_return_address(0))) { \
      errno = error;                                \
      return result;                                \
    }                                               \
  } while (false)

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void* malloc(std::size_t bytes) {
  FAIL_ONCE(kMemory, ENOMEM, nullptr);
  return __libc_malloc(bytes);
}

EXPORTED void* calloc(std::size_t count, std::size_t bytes) {
  FAIL_ONCE(kMemory, ENOMEM, nullptr);
  return __libc_calloc(count, bytes);
}

EXPORTED void* realloc(void* before, std::size_t bytes) {
  FAIL_ONCE(kMemory, ENOMEM, nullptr);
  return __libc_realloc(before, bytes);
}

EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                            void* (*start)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = next<Create>("pthread_create");
  if (fails(kThread, __builtin_return_address(0))) return EAGAIN;
  return create(thread, attributes, start, argument);
}

EXPORTED pid_t fork() {
  for (int kind = 0; counts != nullptr && role == kRecorder && kind < kKinds; ++kind) {
    counts->made_before_start[kind] = counts->made[kRecorder][kind].load();
  }
  static const auto real = next<pid_t (*)()>("fork");
  return real();
}

using Main = int (*)(int, char**, char**);
static Main real_main;

static int begin_main(int argc, char** argv, char** environment) {
  begun = true;
  return real_main(argc, argv, environment);
}

EXPORTED int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                               void (*rtld_fini)(), void* stack_end) {
  using StartMain = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  return next<StartMain>("__libc_start_main")(begin_main, argc, argv, init, fini, rtld_fini,
                                              stack_end);
}

using Open = int (*)(const char*, int, mode_t);

static mode_t mode_in(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

EXPORTED int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  static const auto real = next<Open>("open");
  FAIL_ONCE(kOpen, EMFILE, -1);
  return real(path, flags, mode);
}

EXPORTED int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  static const auto real = next<Open>("open64");
  FAIL_ONCE(kOpen, EMFILE, -1);
  return real(path, flags, mode);
}

EXPORTED FILE* fopen(const char* path, const char* mode) {
  static const auto real = next<FILE* (*)(const char*, const char*)>("fopen");
  FAIL_ONCE(kOpen, EMFILE, nullptr);
  return real(path, mode);
}

EXPORTED FILE* fopen64(const char* path, const char* mode) {
  static const auto real = next<FILE* (*)(const char*, const char*)>("fopen64");
  FAIL_ONCE(kOpen, EMFILE, nullptr);
  return real(path, mode);
}

using Map = void* (*)(void*, std::size_t, int, int, int, off_t);

EXPORTED void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                    off_t offset) {
  static const auto real = next<Map>("mmap");
  FAIL_ONCE(kMap, ENOMEM, MAP_FAILED);
  return real(at, bytes, protection, flags, file, offset);
}

EXPORTED void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) {
  static const auto real = next<Map>("mmap64");
  FAIL_ONCE(kMap, ENOMEM, MAP_FAILED);
  return real(at, bytes, protection, flags, file, offset);
}

EXPORTED ssize_t write(int file, const void* bytes, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  FAIL_ONCE(kWrite, ENOSPC, -1);
  return real(file, bytes, size);
}

EXPORTED ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  FAIL_ONCE(kWrite, ENOSPC, -1);
  return real(file, bytes, size, at);
}

EXPORTED ssize_t pwrite64(int file, const void* bytes, std::size_t size, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite64");
  FAIL_ONCE(kWrite, ENOSPC, -1);
  return real(file, bytes, size, at);
}

EXPORTED int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  FAIL_ONCE(kSync, EIO, -1);
  return real(file);
}

EXPORTED int fdatasync(int file) {
  static const auto real = next<int (*)(int)>("fdatasync");
  FAIL_ONCE(kSync, EIO, -1);
  return real(file);
}

EXPORTED int ftruncate(int file, off_t bytes) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  FAIL_ONCE(kSpace, ENOSPC, -1);
  return real(file, bytes);
}

EXPORTED int ftruncate64(int file, off_t bytes) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate64");
  FAIL_ONCE(kSpace, ENOSPC, -1);
  return real(file, bytes);
}

EXPORTED int posix_fallocate(int file, off_t at, off_t bytes) {
  static const auto real = next<int (*)(int, off_t, off_t)>("posix_fallocate");
  if (fails(kSpace, __builtin_return_address(0))) return ENOSPC;
  return real(file, at, bytes);
}

EXPORTED int socket(int domain, int type, int protocol) {
  static const auto real = next<int (*)(int, int, int)>("socket");
  FAIL_ONCE(kSocket, EMFILE, -1);
  return real(domain, type, protocol);
}

EXPORTED int connect(int file, const sockaddr* address, socklen_t size) {
  static const auto real = next<int (*)(int, const sockaddr*, socklen_t)>("connect");
  FAIL_ONCE(kSocket, EAGAIN, -1);
  return real(file, address, size);
}

EXPORTED ssize_t recvmsg(int file, msghdr* message, int flags) {
  static const auto real = next<ssize_t (*)(int, msghdr*, int)>("recvmsg");
  FAIL_ONCE(kSocket, ENOBUFS, -1);
  return real(file, message, flags);
}

EXPORTED ssize_t sendmsg(int file, const msghdr* message, int flags) {
  static const auto real = next<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  FAIL_ONCE(kSocket, ENOBUFS, -1);
  return real(file, message, flags);
}
