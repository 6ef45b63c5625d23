#include "viewer-export/serve/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;

struct AddressListDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDeleter>;

AddressList numeric_address(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const bool none = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0;
  return AddressList(none ? nullptr : found);
}

int port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
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
  auto socket = listen_on("127.0.0.1", port);
  if (socket.ok()) return socket;
  const std::string hint = port == 0 ? "" : "; choose another port or omit --port";
  return Status::error(ErrorKind::kIo, socket.status().message() + hint);
}

Result<Socket> listen_on(const std::string& host, int& port) {
  const AddressList address = numeric_address(host, port);
  if (!address) return Status::error(ErrorKind::kUsage, host + " is not an IP address");
  const auto failed = [&] {
    const std::string where = host + " port " + std::to_string(port);
    return Status::error(ErrorKind::kIo, "cannot listen on " + where + ": " + std::strerror(errno));
  };
  Socket socket(::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return failed();
  // Allows the same port right after a server on it has ended. Not SO_REUSEPORT: a second program
  // of this user could then listen beside us.
  const int yes = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.fd(), address->ai_addr, address->ai_addrlen) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0) {
    return failed();
  }
  port = port_of(socket);
  return socket;
}

void send_and_close(Socket socket, std::string_view bytes) {
  // A client that does not read the answer at once does not get all of it.
  [[maybe_unused]] const ssize_t sent =
      ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  close_politely(std::move(socket));
}

void close_politely(Socket socket) {
  constexpr int kMaxReads = 16;
  ::shutdown(socket.fd(), SHUT_WR);
  std::array<char, 4096> ignored;
  for (int i = 0; i < kMaxReads; ++i) {
    if (::recv(socket.fd(), ignored.data(), ignored.size(), MSG_DONTWAIT) <= 0) return;
  }
}

Status send_all(const Socket& socket, std::string_view bytes, std::chrono::milliseconds patience,
                const std::atomic<bool>& stopping) {
  constexpr int kLookMs = 100;  // how often `stopping` is checked
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
