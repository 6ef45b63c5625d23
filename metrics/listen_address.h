// Where metrics are served: an address of this machine and a port.
#pragma once

#include <string>

#include "store/status.h"

namespace stepscope {

inline constexpr int kMetricsPort = 9478;

struct ListenAddress {
  std::string host = "127.0.0.1";  // IPv4 or IPv6, numeric, without brackets
  int port = kMetricsPort;         // 0: any free one

  // Only programs of this machine can connect.
  [[nodiscard]] bool is_loopback() const;
  // "http://127.0.0.1:9478/metrics": the address for programs of this machine.
  [[nodiscard]] std::string url() const;

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// "9478" and ":9478" are ports of 127.0.0.1; "0.0.0.0:9478", "[::1]:9478", "localhost:9478". Other
// machines can connect only if the text names an address that is not a loopback address. Errors:
// kUsage.
Result<ListenAddress> read_listen_address(const std::string& text);

}  // namespace stepscope
