// Accepts connections and collects the head of each request.
//
// Any program on this machine may connect. Therefore one thread holds all connections until their
// heads are complete: slow or silent clients block no thread. Nor do they occupy a place forever: a
// head must be complete within a time limit from its connection on, and if there are too many
// connections, the one that has waited longest is closed.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>

#include "viewer-export/serve/socket.h"

namespace stepscope {

// Thread safety: run() on one thread; stop() on any.
class Reception {
 public:
  struct Limits {
    std::size_t most_waiting = 256;              // connections with incomplete heads
    std::chrono::milliseconds patience{10'000};  // for a head, from the connection on
  };
  // Receives each connection with the head of its request (request.h), on run()'s thread, which it
  // must not block.
  using Arrived = std::function<void(Socket, std::string head)>;

  // `listener`: from listen_on_loopback().
  Reception(Socket listener, Limits limits, Arrived arrived);

  // Runs until stop(). Errors: kIo (the system has no free descriptors).
  Status run();
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Socket socket;
    Clock::time_point until;
    std::string bytes;
  };
  enum class Reading : std::uint8_t { kGoesOn, kOver };

  void accept_all();
  // `files`: the results of poll() for waiting_, in its order.
  void read_ready(std::span<const pollfd> files);
  [[nodiscard]] Reading read_some(Waiting& connection);
  void drop_late();
  void drop_oldest();
  [[nodiscard]] int ms_to_next() const;

  const Socket listener_;
  const Socket stop_event_;
  const Limits limits_;
  const Arrived arrived_;
  bool starved_ = false;        // of descriptors
  std::list<Waiting> waiting_;  // the oldest first; used only by run()'s thread
};

}  // namespace stepscope
