#include "viewer-export/serve/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int port_of(const Socket& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Result<Socket> listen_on_loopback(int& port) {
  const auto failed = [port] {
    return Status::error(ErrorKind::kIo, port == 0
                                             ? "no port of 127.0.0.1 is free"
                                             : "port " + std::to_string(port) +
                                                   " is in use; choose another or omit --port");
  };
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return failed();
  // The same port again right after an end. Not SO_REUSEPORT: a second program of this user could
  // listen beside us.
  const int yes = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0) {
    return failed();
  }
  port = port_of(socket);
  return socket;
}

void send_and_close(Socket socket, std::string_view bytes) {
  // Whoever asked without a right to it, and does not take the answer, does not get it.
  [[maybe_unused]] const ssize_t sent =
      ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  close_politely(std::move(socket));
}

void close_politely(Socket socket) {
  constexpr int kMostReads = 16;
  ::shutdown(socket.fd(), SHUT_WR);
  std::array<char, 4096> ignored;
  for (int i = 0; i < kMostReads; ++i) {
    if (::recv(socket.fd(), ignored.data(), ignored.size(), MSG_DONTWAIT) <= 0) return;
  }
}

Status send_all(const Socket& socket, std::string_view bytes, std::chrono::milliseconds patience,
                const std::atomic<bool>& stopping) {
  constexpr int kLookMs = 100;  // for `stopping`
  auto give_up_at = Clock::now() + patience;
  while (!bytes.empty() && !stopping) {
    const ssize_t sent =
        ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      give_up_at = Clock::now() + patience;
      continue;
    }
    if (errno == EINTR) continue;
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || Clock::now() >= give_up_at) break;
    pollfd room{socket.fd(), POLLOUT, 0};
    ::poll(&room, 1, kLookMs);
  }
  if (bytes.empty()) return {};
  return Status::error(ErrorKind::kIo, "the browser stopped reading");
}

}  // namespace stepscope
