// A client of a server on 127.0.0.1, for tests that look at each byte.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "viewer-export/serve/socket.h"

namespace stepscope::testing {

inline Socket connect_to(int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int code =
      ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  EXPECT_EQ(code, 0) << errno;
  return socket;
}

inline bool send_text(const Socket& socket, std::string_view text) {
  return ::send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

// All that comes until the other side ends the connection.
inline std::string receive_all(const Socket& socket) {
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = ::recv(socket.fd(), piece, sizeof piece, 0)) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  return text;
}

}  // namespace stepscope::testing
