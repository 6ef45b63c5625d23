// Notices that something was written to the terminal of standard error, whichever process wrote it.
#pragma once

#include "profiler/channel/owned_fd.h"

namespace stepscope {

class TerminalWrites {
 public:
  // Notices nothing if standard error is no terminal, or one that this process cannot find: that of
  // a container's host, for example.
  TerminalWrites();

  [[nodiscard]] bool are_noticed() const { return static_cast<bool>(events_); }
  // Readable as long as there is something for take() to report.
  [[nodiscard]] int fd() const { return events_.get(); }
  // Whether anything was written since the last call.
  bool take();

 private:
  OwnedFd events_;  // an inotify instance
};

}  // namespace stepscope
