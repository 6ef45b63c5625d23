// TCP connections.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "store/status.h"

namespace stepscope {

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// Listens on 127.0.0.1 and does not block. `port`: 0 for any free one; it is then set to its
// number. Errors: kIo (the port is in use, or none is free).
Result<Socket> listen_on_loopback(int& port);
// The same on `host`, a numeric IPv4 or IPv6 address of this machine. Errors: kUsage (`host` is not
// an address), kIo (the port is in use, or the machine does not have the address).
Result<Socket> listen_on(const std::string& host, int& port);

// Sends without blocking, and ends the connection. For answers small enough to fit into the buffer
// of a new connection: the rest is lost.
void send_and_close(Socket socket, std::string_view bytes);

// Ends the connection so that the other side can still read what was sent: closing with unread
// bytes would reset it.
void close_politely(Socket socket);

// Sends all of `bytes`, as fast as the other side reads. Errors: kIo: it is gone, read nothing for
// `patience`, or `stopping` was set.
Status send_all(const Socket& socket, std::string_view bytes, std::chrono::milliseconds patience,
                const std::atomic<bool>& stopping);

}  // namespace stepscope
