// The recorder's end of the channel: a socket with two addresses (socket_address.h), and one region
// per program.
//
// Thread safety: none; used by one recorder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "profiler/channel/channel_format.h"
#include "profiler/channel/owned_fd.h"
#include "profiler/channel/socket_address.h"
#include "profiler/ring/region.h"
#include "store/status.h"

namespace stepscope {

// Anonymous memory that can be passed to another process: a memfd or, if memfd_create() is
// unavailable (old kernels, seccomp), an unlinked file in /dev/shm or in `folder`.
Result<OwnedFd> make_shared_memory(std::uint64_t bytes, const std::filesystem::path& folder);

class Listener {
 public:
  // A program that has connected. Its region is mapped here; the caller unmaps it.
  struct Arrival {
    pid_t pid = 0;
    Hello hello{};
    Region region;
    OwnedFd memory;      // its /proc/PID/mem, for reading; empty if not available
    OwnedFd maps;        // its /proc/PID/maps; the same
    std::string notice;  // a line for the user; empty: none
  };

  // Errors: kIo.
  static Result<std::unique_ptr<Listener>> open();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Executes a command received on the socket and returns one line as the answer.
  using ControlHandler = std::function<std::string(ControlCommand)>;
  void set_control_handler(ControlHandler handler) { control_ = std::move(handler); }

  // For STEPSCOPE_SOCKET.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Readable when accept() has work to do, but not when a process has come by the abstract name:
  // everybody can, and must not be able to wake the recorder.
  [[nodiscard]] int fd() const { return sockets_[0].get(); }

  // Accepts the next waiting program and gives it a region; nothing when none is waiting, or for a
  // malformed request. A program for which there is no memory is refused with an error, and one
  // that only says that it was not recorded is an error too; the next call continues with the next
  // program. `patience_ticks`: how long the program waits for the next heartbeat before it
  // considers the recorder gone.
  Result<std::optional<Arrival>> accept(const RegionLayout& layout, const RecordPlan& plan,
                                        std::uint64_t patience_ticks);

 private:
  Listener(std::filesystem::path folder, std::string path, OwnedFd socket, OwnedFd abstract);
  struct Connection {
    OwnedFd fd;     // empty: none is waiting
    pid_t pid = 0;  // 0: not visible from here
  };

  Connection accept_at(SocketPlace place);
  Connection next_connection();

  std::filesystem::path folder_;
  std::string path_;
  OwnedFd sockets_[2];  // by SocketPlace; the second is empty if its name could not be had
  OwnedFd spare_;       // closed to accept, and refuse, a program when no descriptor is left
  ControlHandler control_;
};

// Sends a command to the recorder with the socket `path`. Errors, which do not name the path:
// kNotFound (no recorder), kUnavailable (another user's), kIo (also no answer within `patience`).
Result<std::string> ask_recorder(
    const std::string& path, ControlCommand command,
    std::chrono::seconds patience = std::chrono::seconds(kRecorderPatienceSeconds));

}  // namespace stepscope
