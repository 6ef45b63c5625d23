// The recorder's end of the channel: a socket that programs find by its path, and a region for
// each.
//
// Thread safety: none; one recorder's.
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
#include "profiler/ring/region.h"
#include "store/status.h"

namespace stepscope {

// Anonymous memory that can be handed to another process: a memfd, else an unlinked file in
// /dev/shm or in `folder`, where memfd_create() is not to be had (old kernels, seccomp).
Result<OwnedFd> make_shared_memory(std::uint64_t bytes, const std::filesystem::path& folder);

class Listener {
 public:
  // A program that has come. Its region is mapped here; the caller unmaps it.
  struct Arrival {
    pid_t pid = 0;
    Hello hello{};
    Region region;
    std::string notice;  // a line for the user; empty: none
  };

  // Errors: kIo.
  static Result<std::unique_ptr<Listener>> open();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Who carries out what somebody asks for on the socket, and answers with a line.
  using ControlHandler = std::function<std::string(ControlCommand)>;
  void set_control_handler(ControlHandler handler) { control_ = std::move(handler); }

  // For STEPSCOPE_SOCKET.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Readable when accept() has something to do.
  [[nodiscard]] int fd() const { return socket_.get(); }

  // The next program that waits, given a region; nothing when none does. One that says nonsense is
  // sent away and not told of. A program for which there is no memory is refused: the error is
  // that, and the next call goes on with the next program. `patience_ticks`: how long the program
  // waits for the next heartbeat before it takes the recorder for gone.
  Result<std::optional<Arrival>> accept(const RegionLayout& layout, const RecordPlan& plan,
                                        std::uint64_t patience_ticks);

 private:
  Listener(std::filesystem::path folder, std::string path, OwnedFd socket);

  std::filesystem::path folder_;
  std::string path_;
  OwnedFd socket_;
  ControlHandler control_;
};

// Asks the recorder whose socket is at `path`. Errors: kNotFound (nobody is there), kIo (no answer
// within `patience`, too).
Result<std::string> ask_recorder(
    const std::string& path, ControlCommand command,
    std::chrono::seconds patience = std::chrono::seconds(kRecorderPatienceSeconds));

}  // namespace stepscope
