#include "metrics/listen_address.h"

#include <arpa/inet.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace stepscope {
namespace {

constexpr int kLargestPort = 65'535;

std::optional<int> read_port(std::string_view text) {
  int port = -1;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  if (read.ec != std::errc() || read.ptr != end || port < 0 || port > kLargestPort)
    return std::nullopt;
  return port;
}

bool is_numeric(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool is_v6(const std::string& host) { return host.find(':') != std::string::npos; }

}  // namespace

bool ListenAddress::is_loopback() const { return host.starts_with("127.") || host == "::1"; }

std::string ListenAddress::url() const {
  const std::string reachable = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
  return "http://" + (is_v6(reachable) ? "[" + reachable + "]" : reachable) + ":" +
         std::to_string(port) + "/metrics";
}

Result<ListenAddress> read_listen_address(const std::string& text) {
  ListenAddress address;
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const auto number = read_port(port);
  const bool host_ok = host.empty() || (is_numeric(host) && is_v6(host) == bracketed);
  if (!number || !host_ok) {
    return Status::error(
        ErrorKind::kUsage,
        "\"" + text +
            "\" is not an address for metrics; give a port (9478), or an IP address "
            "and a port (0.0.0.0:9478)");
  }
  if (!host.empty()) address.host = host;
  address.port = *number;
  return address;
}

}  // namespace stepscope
