#include "wrap/terminal_writes.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace stepscope {

TerminalWrites::TerminalWrites() {
  std::array<char, 128> path{};
  if (::ttyname_r(STDERR_FILENO, path.data(), path.size()) != 0) return;
  OwnedFd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (events && ::inotify_add_watch(events.get(), path.data(), IN_MODIFY) >= 0)
    events_ = std::move(events);
}

bool TerminalWrites::take() {
  std::array<char, 1024> events{};
  bool any = false;
  while (::read(events_.get(), events.data(), events.size()) > 0) any = true;
  return any;
}

}  // namespace stepscope
