// The two addresses of a recorder's socket. Both are made from the path in STEPSCOPE_SOCKET.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stepscope {

enum class SocketPlace : std::uint8_t {
  // The path, in a folder that only the recorder's user can enter.
  kFile,
  // The same text as an abstract name (unix(7)), for a process that cannot reach the path: it has
  // another user, root folder or mount namespace, or somebody has removed the folder. Every process
  // of the network namespace can connect, so each side checks the other.
  kAbstract,
};

struct SocketAddress {
  sockaddr_un address{};
  socklen_t size = 0;  // 0: the path is too long for an address

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

inline SocketAddress socket_address(std::string_view path, SocketPlace place) {
  SocketAddress made;
  if (path.size() + 1 > sizeof(made.address.sun_path)) return made;
  made.address.sun_family = AF_UNIX;
  // An abstract name begins with a NUL and has no NUL at its end; a path is the other way around.
  const std::size_t first = place == SocketPlace::kAbstract ? 1 : 0;
  std::memcpy(made.address.sun_path + first, path.data(), path.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return made;
}

}  // namespace stepscope
