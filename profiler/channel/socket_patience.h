// Limits how long socket calls wait for a peer.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>

namespace stepscope {

// From now on connect(), send() and recv() on `socket` give up after `patience`.
inline void set_patience(int socket, std::chrono::milliseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timeval limit{seconds.count(), std::chrono::microseconds(patience - seconds).count()};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

}  // namespace stepscope
