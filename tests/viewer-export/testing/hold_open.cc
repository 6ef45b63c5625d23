// Preloaded into a program under test. While the file $HOLD is there, whoever opens a file named
// $HOLD_NAME waits for ever; the file "$HOLD.met" appears as soon as one does. So a test can stop a
// program in the middle of reading a store, for as long as it likes.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using Open = int (*)(const char*, int, ...);

void hold(const char* path, Open real) {
  const char* const held = std::getenv("HOLD");
  const char* const name = std::getenv("HOLD_NAME");
  if (held == nullptr || name == nullptr || path == nullptr) return;
  if (!std::string_view(path).ends_with(name)) return;
  if (::access(held, F_OK) != 0) return;
  constexpr int kMode = 0600;
  ::close(real((std::string(held) + ".met").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, kMode));
  while (true) ::pause();
}

int open_unless_held(const char* symbol, const char* path, int flags, std::va_list more) {
  const auto real = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, symbol));
  hold(path, real);
  return real(path, flags, (flags & O_CREAT) != 0 ? va_arg(more, int) : 0);
}

}  // namespace

extern "C" {

// libsqlite3 calls the one with 64 in its name where files can be large.
[[gnu::visibility("default")]] int open64(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const int descriptor = open_unless_held("open64", path, flags, more);
  va_end(more);
  return descriptor;
}

[[gnu::visibility("default")]] int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const int descriptor = open_unless_held("open", path, flags, more);
  va_end(more);
  return descriptor;
}
}
